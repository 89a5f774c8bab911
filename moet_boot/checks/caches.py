"""Planes caches and pack stores: CACHE.SKIP, PACK.IDENTITY."""

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.model_files import fetch_fix
from moet_boot.checks.scope import PACK_STORE, STAGING
from moet_boot.exits import Exit
from moet_boot.forecast.facts import artefact_of, file_of
from moet_boot.machine.snapshot import FileFacts
from moet_boot.profile.model import ArtefactKind

PULL_REQUEST = "vLLM-Moet pull request 16 (code)"


@check("CACHE.SKIP", "the loader skip fires for every layer", scope=STAGING)
def skip_fires(case: Case) -> Answer:
    """Whether each layer comes from the store that the server asks; what a miss costs is MEM.TRANSIENT's."""
    staged = case.forecast.staging
    if staged is None or not staged.known:
        return unseen(case, f"state of the {staged.store if staged else 'planes cache'}", reader="stores")
    if not staged.missed:
        found = artefact_of(case.profile, ArtefactKind.PLANES_CACHE)
        file = file_of(case.profile, case.plan, case.snapshot, ArtefactKind.PLANES_CACHE)
        believed = _believed(case, found[0], file) if found and file else None
        return believed or passed(f"{staged.layers} of {staged.layers} layers from the {staged.store}")
    return warn(
        f"{staged.missed} of {staged.layers} layers miss: {staged.problem}",
        f"all layers from the {staged.store}",
        why="a layer that misses is staged in host RAM and quantized again at every boot; the server does not say so",
        fix="moet-boot planes skip-forecast names the reason for each layer; then fetch, convert or set what it says",
        source=PULL_REQUEST,
    )


@check("PACK.IDENTITY", "the pack store is what the server expects", needs=("files",), scope=PACK_STORE)
def identity(case: Case) -> Answer:
    """A v1 server serves a missing or short pack as zeros, and fills a foreign one anew."""
    found = artefact_of(case.profile, ArtefactKind.PACK_STORE)
    file = file_of(case.profile, case.plan, case.snapshot, ArtefactKind.PACK_STORE)
    if found is None or file is None:
        return unseen(case, "state of the pack store", reader="stores")
    name, wanted = found
    if file.complete is None and file.exists:
        return skip("whether it is complete was not read")
    if file.complete:
        return _believed(case, name, file) or passed(f"{file.path} is complete")
    said = file.problems[0] if file.problems else "not complete" if file.exists else "does not exist"
    return warn(
        f"{file.path}: {said}",
        "a complete pack store",
        why=f"the server fills it during the boot, which takes time, disk and host RAM for its buffers. {wanted.why}",
        fix=fetch_fix(case, name),
        source=PULL_REQUEST,
    )


def _believed(case: Case, name: str, file: FileFacts) -> Answer | None:
    """A store that the server takes for complete and that has a problem all the same."""
    if not file.problems:
        return None
    return refuse(
        f"{file.path}: {file.problems[0]}",
        "a store of this checkpoint, whole",
        why="the server believes the side files: rows that are not there are served as zeros, without a word",
        fix=fetch_fix(case, name),
        source=PULL_REQUEST,
        code=Exit.ARTEFACT_DAMAGED,
        acceptable=False,
    )


CHECKS: tuple[Check, ...] = (skip_fires, identity)
