"""Which GPUs the machine code in an image runs on (CUDA programming guide, compute capabilities)."""

import re
from collections.abc import Iterable

_ENTRY = re.compile(r"^(sm_|compute_)?(\d+)(?:\.(\d+))?([af]?)(\+?ptx)?$")


def runs_on(archs: Iterable[str], capability: str) -> bool:
    """Whether code for any of `archs` (`12.1a`, `12.0f`, `12.0+PTX`, `sm_120`) runs on a compute capability.

    `a` is for that very capability only; `f` and plain machine code for it and later ones of the same major;
    plain PTX is compiled on the spot for any later capability.
    """
    major, _, minor = capability.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        return False
    return any(_entry_runs(entry, (int(major), int(minor))) for entry in archs)


def _entry_runs(entry: str, wanted: tuple[int, int]) -> bool:
    match = _ENTRY.match(entry.strip().lower().replace(" ", ""))
    if match is None:
        return False
    kind, major, minor, suffix, ptx = match.groups()
    # nvcc's form has no dot: the last digit is the minor number
    built = (int(major), int(minor)) if minor else (int(major[:-1] or 0), int(major[-1]))
    if suffix == "a":
        return built == wanted
    if not suffix and (ptx or kind == "compute_") and wanted >= built:
        return True
    return wanted[0] == built[0] and wanted[1] >= built[1]
