"""What the forecast takes from a machine: sizes of its memory and the state of the artefacts."""

from dataclasses import dataclass

from moet_boot.forecast.gpu_choice import used_gpus
from moet_boot.launch.plan import LaunchPlan
from moet_boot.machine.snapshot import Checkpoint, FileFacts, Filesystem, Snapshot
from moet_boot.profile.model import Artefact, ArtefactKind, Profile

ROLES = {
    ArtefactKind.CHECKPOINT: "model",
    ArtefactKind.PLANE_FILE: "plane",
    ArtefactKind.PLANES_CACHE: "plane",
    ArtefactKind.PACK_STORE: "store",
}
"""Kind of an artefact -> its key in the snapshot's `fs` group."""

SIZE_TOLERANCE = 0.05
"""A checkpoint whose size is further from the published one is judged by MODEL.COMPLETE, not used here."""


@dataclass(frozen=True)
class StoreFacts:
    """What was read about a planes cache or a pack store. `missing`: layers that it lacks, None if not counted."""

    complete: bool
    missing: int | None = None
    problem: str = ""


@dataclass(frozen=True)
class BootFacts:
    """What the forecast may know about a machine; None is not known, and the profile's figure stands. Bytes."""

    memory_total_bytes: int | None = None
    gpu_total_bytes: int | None = None
    checkpoint_bytes: int | None = None
    planes_cache: StoreFacts | None = None
    pack_store: StoreFacts | None = None


def boot_facts(profile: Profile, plan: LaunchPlan, snapshot: Snapshot) -> BootFacts:
    """The facts of a snapshot that move the forecast."""
    return BootFacts(
        memory_total_bytes=snapshot.meminfo.total_bytes if snapshot.meminfo else None,
        gpu_total_bytes=_gpu_total(profile, plan, snapshot),
        checkpoint_bytes=_checkpoint_bytes(profile, snapshot.checkpoint),
        planes_cache=_store(profile, plan, snapshot, ArtefactKind.PLANES_CACHE),
        pack_store=_store(profile, plan, snapshot, ArtefactKind.PACK_STORE),
    )


def artefact_of(profile: Profile, kind: ArtefactKind) -> tuple[str, Artefact] | None:
    """The profile's artefact of a kind, with its name."""
    return next(((name, a) for name, a in profile.artefacts.items() if a.kind is kind), None)


def filesystem_of(snapshot: Snapshot, kind: ArtefactKind) -> Filesystem | None:
    """The filesystem behind the artefacts of a kind."""
    return (snapshot.fs or {}).get(ROLES[kind])


def file_of(profile: Profile, plan: LaunchPlan, snapshot: Snapshot, kind: ArtefactKind) -> FileFacts | None:
    """What was read about the artefact of a kind: by its name, by its path, or by the path of its filesystem."""
    found = artefact_of(profile, kind)
    if found is None or snapshot.files is None:
        return None
    name = found[0]
    place = filesystem_of(snapshot, kind)
    paths = {plan.paths.get(name), place.path if place else None}
    named = next((file for file in snapshot.files if file.name == name), None)
    return named or next((file for file in snapshot.files if file.path in paths), None)


def _gpu_total(profile: Profile, plan: LaunchPlan, snapshot: Snapshot) -> int | None:
    gpu = profile.hardware.gpu
    if gpu is None:
        return None
    totals = [card.memory.total for card in used_gpus(plan, snapshot, gpu.count) if card.memory.total]
    return min(totals) if totals else None


def _checkpoint_bytes(profile: Profile, checkpoint: Checkpoint | None) -> int | None:
    found = artefact_of(profile, ArtefactKind.CHECKPOINT)
    published = found[1].size_bytes if found else None
    size = checkpoint.total_bytes if checkpoint else None
    if not published or not size or abs(size - published) > SIZE_TOLERANCE * published:
        return None
    return size


def _store(profile: Profile, plan: LaunchPlan, snapshot: Snapshot, kind: ArtefactKind) -> StoreFacts | None:
    if artefact_of(profile, kind) is None:
        return StoreFacts(complete=False, problem="the profile has none")
    file = file_of(profile, plan, snapshot, kind)
    if file is None:
        return None
    missing: int | None = None
    if file.layers_expected is not None and file.layers_present is not None:
        missing = max(file.layers_expected - file.layers_present, 0)
    problem = file.problems[0] if file.problems else ""
    if not file.exists:
        return StoreFacts(complete=False, problem=f"{file.path} does not exist")
    if file.complete is None and missing is None:
        return None
    return StoreFacts(bool(file.complete) if file.complete is not None else missing == 0, missing, problem)
