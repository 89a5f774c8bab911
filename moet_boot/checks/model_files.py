"""The checkpoint: MODEL.PRESENT, MODEL.COMPLETE, MODEL.REVISION."""

from moet_boot.checks.finding import Answer, Case, Check, check, passed, refuse, skip, unseen, warn
from moet_boot.checks.scope import CHECKPOINT
from moet_boot.exits import Exit
from moet_boot.forecast.facts import artefact_of
from moet_boot.machine.snapshot import Checkpoint
from moet_boot.profile.model import Artefact, ArtefactKind
from moet_boot.units import format_bytes

LFS_HEAD = "version https://git-lfs"
SHARD_SUFFIX = ".safetensors"
SIZE_SHARE = 0.98
"""Published sizes are of the shards alone and rounded in places; less than this of them is a download cut short."""


def _wanted(case: Case) -> tuple[str, Artefact]:
    found = artefact_of(case.profile, ArtefactKind.CHECKPOINT)
    if found is None:
        raise ValueError("this profile has no checkpoint")
    return found


def fetch_fix(case: Case, name: str) -> str:
    """How an artefact of a profile is brought here."""
    artefact = case.profile.artefacts[name]
    elsewhere = f"name the place where it lies: --path {name}=PATH"
    if artefact.repo:
        return f"moet-boot fetch --profile {case.profile.name} --dir DIR, or {elsewhere}"
    return f"make or copy it again, or {elsewhere}"


@check("MODEL.PRESENT", "the checkpoint is there", needs=("checkpoint",), scope=CHECKPOINT)
def present(case: Case) -> Answer:
    """A folder with a config and at least one shard."""
    name, wanted = _wanted(case)
    seen = case.snapshot.checkpoint
    if seen is None:
        return unseen(case, "checkpoint")
    where = seen.path or case.plan.paths.get(name, wanted.path)
    if _there(seen):
        return passed(f"{seen.shards_present or len(seen.shards or [])} shards in {where}")
    return refuse(
        f"no shard in {where}" if seen.exists else f"{where} does not exist",
        f"the checkpoint {wanted.repo or name}",
        why=wanted.why,
        fix=fetch_fix(case, name),
        source=wanted.source,
        code=Exit.ARTEFACT_MISSING,
        acceptable=False,
    )


@check("MODEL.COMPLETE", "every shard is whole", needs=("checkpoint",), scope=CHECKPOINT)
def complete(case: Case) -> Answer:
    """Shards against the index, sizes, LFS pointers, unfinished downloads."""
    name, wanted = _wanted(case)
    seen = case.snapshot.checkpoint
    if seen is None:
        return unseen(case, "checkpoint")
    if not _there(seen):
        return skip("there is no checkpoint (MODEL.PRESENT)")
    damage, missing = _damage(case, seen, wanted), _missing(seen)
    if damage or missing:
        pointers = "git lfs pull in the folder, or " if "LFS" in damage else ""
        return refuse(
            damage or missing,
            f"{seen.index_declares or wanted.shards or 'all'} whole shards",
            why="the loader walks every shard, also when it skips the experts; a part of one gives a misleading error"
            " after minutes",
            fix=pointers + fetch_fix(case, name),
            source=wanted.source,
            code=Exit.ARTEFACT_DAMAGED if damage else Exit.ARTEFACT_MISSING,
            acceptable=False,
        )
    return _whole(case, seen, wanted)


def _there(seen: Checkpoint) -> bool:
    return seen.exists and bool(seen.shards_present or seen.shards)


def _whole(case: Case, seen: Checkpoint, wanted: Artefact) -> Answer:
    if seen.incomplete_blobs:
        return warn(
            f"{seen.shards_present} of {seen.index_declares or '?'} shards, and {seen.incomplete_blobs} unfinished"
            " downloads (*.incomplete)",
            "no download in progress",
            why="every shard is there, so these are leftovers, or a download is still running",
            fix="let the download end, or delete the *.incomplete files",
        )
    if wanted.shards and seen.index_declares and seen.index_declares != wanted.shards:
        return warn(
            f"the index declares {seen.index_declares} shards",
            f"{wanted.shards} (profile {case.profile.name})",
            why="complete in itself, but not laid out like the checkpoint that the profile's figures are from",
            fix="check repository and revision",
            source=wanted.source,
        )
    detail = "each shard's size" if seen.shards is not None else "a summary"
    return passed(f"{seen.shards_present} of {seen.index_declares or '?'} shards (judged by {detail})")


def _damage(case: Case, seen: Checkpoint, wanted: Artefact) -> str:
    pointers = max(seen.lfs_pointers or 0, sum(shard.lfs_pointer for shard in seen.shards or []))
    shards = [f for f in case.snapshot.files or [] if f.path.endswith(SHARD_SUFFIX)]
    heads = [f for f in shards if (f.head or "").startswith(LFS_HEAD)]
    if pointers or heads:
        return f"{pointers or len(heads)} shards are git-LFS pointers, small text files, not weights"
    if seen.config_ok is False:
        return "config.json is missing or broken"
    if seen.problems:
        more = f" (and {len(seen.problems) - 1} more)" if len(seen.problems) > 1 else ""
        return seen.problems[0] + more
    unfinished = f"; {seen.incomplete_blobs} downloads are unfinished" if seen.incomplete_blobs else ""
    if seen.total_bytes is not None and wanted.size_bytes and seen.total_bytes < SIZE_SHARE * wanted.size_bytes:
        if _missing(seen):
            return ""
        size, whole = format_bytes(seen.total_bytes), format_bytes(wanted.size_bytes)
        return f"{size} in all, expected {whole}: truncated{unfinished}"
    return ""


def _missing(seen: Checkpoint) -> str:
    if seen.missing:
        return f"{len(seen.missing)} shards are missing, such as {seen.missing[0]}"
    if seen.index_declares is None or seen.shards_present is None or seen.shards_present >= seen.index_declares:
        return ""
    unfinished = f", {seen.incomplete_blobs} downloads are incomplete" if seen.incomplete_blobs else ""
    return f"{seen.shards_present} of {seen.index_declares} shards{unfinished}"


@check("MODEL.REVISION", "the checkpoint's revision", needs=("checkpoint",), scope=CHECKPOINT)
def revision(case: Case) -> Answer:
    """The revision that planes and caches were made from."""
    name, wanted = _wanted(case)
    seen = case.snapshot.checkpoint
    if seen is None:
        return unseen(case, "checkpoint")
    if wanted.revision is None:
        return skip("the profile pins no revision")
    if not _there(seen):
        return skip("there is no checkpoint (MODEL.PRESENT)")
    other_repo = bool(seen.repo and wanted.repo and seen.repo.lower() != wanted.repo.lower())
    measured = f"{seen.repo or 'unknown repository'} at {seen.revision or 'an unknown revision'}"
    required = f"{wanted.repo} at {wanted.revision}"
    if other_repo or (seen.revision is not None and not _same(seen.revision, wanted.revision)):
        return refuse(
            measured,
            required,
            why="planes, caches and dense weights must come from one revision: a mix serves wrong answers and says"
            " nothing",
            fix=fetch_fix(case, name),
            source=wanted.source,
            code=Exit.ARTEFACT_DAMAGED,
        )
    if seen.revision is None:
        return warn(
            measured,
            required,
            why="a folder without download records does not say what it is; a mix of revisions serves wrong answers",
            fix=f"download it with its revision recorded: {fetch_fix(case, name)}",
            source=wanted.source,
        )
    return passed(measured, required)


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


CHECKS: tuple[Check, ...] = (present, complete, revision)
