"""`build_planes`: from the experts of a checkpoint to a MOET2PF file, the same bytes for the same input."""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, UsageError
from moet_boot.planes.checkpoint import Checkpoint
from moet_boot.planes.direct_io import AlignedBuffer, DirectReader
from moet_boot.planes.moet2pf import Header
from moet_boot.planes.moet2pf_write import PlaneFileWriter
from moet_boot.planes.peak_memory import peak_rss_bytes
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.read_back import ReadBack
from moet_boot.planes.slot_builder import SlotBuilder
from moet_boot.planes.slot_hash import hash_slot
from moet_boot.planes.workers import default_threads, run_in_threads, usable_cpus

REVISION_HEX = 40
# packing takes the interpreter's lock a thousand times an expert: more threads at it than cores only hand it
# around (24 threads on 2 cores: 0.5 GiB/s of checkpoint without turns, 0.75 with two; more than 4 gain nothing)
MAX_PACKERS = 4


@dataclass(frozen=True)
class BuildReport:
    """What a build did.

    `bytes_read` are those of the experts' tensors that were packed, `bytes_written` those of slots and table.
    `sha256` is of the whole file, None when it was not asked for; `read_back_s` of `duration_s` went into it.
    """

    path: Path
    slots: int
    resumed: int
    bytes_read: int
    bytes_written: int
    duration_s: float
    peak_rss_bytes: int
    sha256: str | None
    read_back_s: float


@dataclass(frozen=True)
class _DoneSlot:
    slot: int
    digest: bytes
    resumed: bool


def build_planes(
    folder: Path,
    out: Path,
    *,
    repo: str,
    revision: str,
    threads: int | None = None,
    overwrite: bool = False,
    whole_file: bool = True,
    on_slots: Progress = no_progress,
    on_whole_file: Progress = no_progress,
) -> BuildReport:
    """Build `out` from the checkpoint in `folder`; a killed build goes on where it stopped.

    `on_slots` counts bytes of the checkpoint, `on_whole_file` bytes of the result while it is read back.
    `whole_file` false: it is not, and there is no digest. Raises the artefact errors for a checkpoint that is
    not whole or a result that does not read back, UsageError, BusyError when the output is being written by
    somebody else, MoetBootError when the disk is full.
    """
    started = time.monotonic()
    with Checkpoint(folder) as checkpoint:
        _require_revision(folder, revision)
        if checkpoint.holds(out):
            raise UsageError(f"{out} is a part of the checkpoint", fix="choose another --out")
        header = Header(checkpoint.geometry, repo, revision, index_sha256=checkpoint.index_sha256)
        with PlaneFileWriter(out, header, checkpoint.fingerprint, overwrite=overwrite) as writer:
            checkpoint.require_written()
            resumed = _write_slots(checkpoint, writer, threads or default_threads(), on_slots)
            checkpoint.require_unchanged()
            read_back = ReadBack(on_whole_file)
            writer.finish(read_back if whole_file else None)
        slots = header.geometry.n_slots
        built = slots - resumed
        return BuildReport(
            path=out,
            slots=slots,
            resumed=resumed,
            bytes_read=built * header.geometry.checkpoint_expert_bytes,
            bytes_written=built * header.geometry.slot_stride + header.layout.body_offset,
            duration_s=time.monotonic() - started,
            peak_rss_bytes=peak_rss_bytes(),
            sha256=read_back.sha256,
            read_back_s=read_back.seconds,
        )


def _write_slots(checkpoint: Checkpoint, writer: PlaneFileWriter, threads: int, on_progress: Progress) -> int:
    """Put every slot in place; return how many were there already."""
    resumed, size = 0, checkpoint.geometry.checkpoint_expert_bytes
    total = checkpoint.geometry.n_slots
    turn = threading.BoundedSemaphore(min(MAX_PACKERS, usable_cpus()))
    with DirectReader(writer.partial) as written:

        def make_work() -> Callable[[int], _DoneSlot]:
            builder = SlotBuilder(checkpoint, turn)
            return lambda slot: _resume(writer, written, builder.buffer, slot) or _build(writer, builder, slot)

        for done, result in enumerate(run_in_threads(range(total), make_work, threads), start=1):
            writer.record(result.slot, result.digest)
            resumed += result.resumed
            on_progress(done * size, total * size)
    return resumed


def _build(writer: PlaneFileWriter, builder: SlotBuilder, slot: int) -> _DoneSlot:
    padded = builder.build(slot)
    digest = hashlib.sha256(padded[: writer.header.geometry.slot_bytes]).digest()
    writer.write_slot(slot, padded)
    return _DoneSlot(slot, digest, resumed=False)


def _resume(writer: PlaneFileWriter, written: DirectReader, buffer: AlignedBuffer, slot: int) -> _DoneSlot | None:
    """The slot of an earlier run, if it reads back as it was recorded."""
    digest = writer.journal.get(slot)
    if digest is None:
        return None
    found = hash_slot(written, buffer, slot, writer.header.geometry, writer.layout.slot_offset(slot))
    intact = found.digest == digest and found.padding_clean
    return _DoneSlot(slot, digest, resumed=True) if intact else None


def _require_revision(folder: Path, revision: str) -> None:
    """A snapshot of the hub's cache is named by its revision: it must be the one that is written down."""
    snapshot = folder.resolve()
    named = snapshot.parent.name == "snapshots" and len(snapshot.name) == REVISION_HEX
    if named and snapshot.name != revision:
        raise ArtefactDamagedError(
            f"{folder} is revision {snapshot.name}, not {revision}", fix="name the revision that this folder holds"
        )
