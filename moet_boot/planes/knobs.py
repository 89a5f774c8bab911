"""The server's VLLM_MOE_W2* environment: known names, and values that would be misread."""

import difflib

from moet_boot.errors import UsageError
from moet_boot.planes.knob import Knob
from moet_boot.planes.knob_table import KNOBS
from moet_boot.planes.server_version import ServerVersion


def knob(name: str) -> Knob:
    """The knob of this name; raises UsageError with the nearest known name."""
    found = KNOBS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, KNOBS, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else "see `moet-boot profiles explain` for the names in use"
        raise UsageError(f"the server has no setting {name}", fix=hint)
    return found


def check_knob(name: str, value: str, server: ServerVersion | None = None) -> None:
    """Raise UsageError when the server (of this version) would ignore or misread `name=value`."""
    found = knob(name)
    if server is not None and server not in found.servers:
        only = ", ".join(sorted(found.servers))
        raise UsageError(f"{name} is read by {only} servers only, this profile is for {server}", fix=f"drop {name}")
    problem = found.problem(value) or found.refused_by(server, value)
    if problem:
        raise UsageError(f"{name}={value!r}: {problem}", fix=f"{name} means: {found.meaning}")
