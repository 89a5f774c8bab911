"""`convert_planes`: the same planes in another container, byte for byte (planes.md h.6)."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, BusyError, UsageError
from moet_boot.planes.convert_plan import make_targets, target_ckpt_id
from moet_boot.planes.convert_request import Container, ConvertRequest, Fp4, check_request
from moet_boot.planes.direct_write import require_space, unwritable
from moet_boot.planes.open_source import geometry_hint, open_checkpoint, open_part
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.slot_source import (
    BASE_SECTIONS,
    FP4_SECTIONS,
    SPLIT_SECTIONS,
    Sections,
    SlotSource,
    differing_sections,
    require_written,
)
from moet_boot.planes.slot_target import TEMPORARY, SlotTarget


@dataclass(frozen=True)
class ConvertReport:
    """What was written. `fp4` says which FP4 parts are in it; sizes in bytes."""

    source: Path
    to: Container
    files: tuple[Path, ...]
    layers: tuple[int, ...]
    slots: int
    fp4: Fp4
    fp4_from: str | None
    ckpt_id: str | None
    bytes_written: int
    duration_s: float


def convert_planes(request: ConvertRequest, on_progress: Progress = no_progress) -> ConvertReport:
    """Write the planes of `request.source` into another container under `request.out`.

    Reads and writes past the page cache, one slot in memory at a time. Nothing appears under a final name
    before all of it is on the disk. Raises UsageError for what cannot be converted or would overwrite
    something, the artefact errors for a source that is not whole, BusyError for an output that is being
    written, MoetBootError when the disk is full.
    """
    started = time.monotonic()
    check_request(request)
    part = open_part(request.source, geometry_hint(request.checkpoint), request.tp, request.rank)
    with closing(part) as source, _locked(request):
        fp4 = _choose_fp4(request, source)
        with _maker(request, source, fp4) as maker:
            targets = make_targets(request, source, fp4)
            _require_room(targets, request, fp4)
            files = _write(targets, _Slots(source, maker), on_progress)
        return ConvertReport(
            source=request.source,
            to=request.to,
            files=tuple(files),
            layers=source.layers,
            slots=len(source.layers) * source.geometry.n_experts,
            fp4=fp4,
            fp4_from=None if fp4 is Fp4.NONE else ("checkpoint" if maker else "source"),
            ckpt_id=None if request.to is Container.MOET2PF else target_ckpt_id(request, source),
            bytes_written=sum(target.bytes_to_write for target in targets),
            duration_s=time.monotonic() - started,
        )


class _Slots:
    """Sections of the source, completed from the checkpoint, which must be the one the planes come from."""

    def __init__(self, source: SlotSource, maker: SlotSource | None) -> None:
        self.source, self._maker = source, maker

    def sections(self, layer: int, expert: int, needs: frozenset[str]) -> Sections:
        have = [name for name in self.source.sections if name in needs]
        lacking = [name for name in needs if name not in have]
        found: Mapping[str, memoryview] = self.source.slot(layer, expert, have) if have else {}
        if found:
            require_written(found, self.source.path, layer, expert)
        if self._maker is None or not lacking:
            return found
        if expert in {0, self.source.geometry.n_experts - 1}:
            self._require_same_model(self._maker, layer, expert)
            found = self.source.slot(layer, expert, have) if have else {}
        return {**found, **self._maker.slot(layer, expert, lacking)}

    def _require_same_model(self, maker: SlotSource, layer: int, expert: int) -> None:
        """FP4 parts of another checkpoint would pass every check of the server and give wrong answers."""
        shared = self.source.sections
        mine = self.source.slot(layer, expert, shared)
        made = maker.slot(layer, expert, shared)
        differing = differing_sections(mine, made, shared)
        if differing:
            raise ArtefactDamagedError(
                f"{self.source.path}: layer {layer} expert {expert} is not what {maker.path} gives "
                f"({', '.join(differing)} differ)",
                fix="name the checkpoint that these planes were made from, or leave the FP4 parts out with --fp4 none",
            )


def _require_room(targets: list[SlotTarget], request: ConvertRequest, fp4: Fp4) -> None:
    """Refuse before the first byte what is in the way or will not fit."""
    for target in targets:
        target.claim()
    folder = request.out if request.out.is_dir() else request.out.parent
    parts = "" if fp4 is Fp4.NONE else f" with FP4 parts ({fp4}; --fp4 none leaves them out)"
    total = sum(target.bytes_to_write for target in targets)
    require_space(folder, total, f"converting {request.source.name}{parts}")


def _write(targets: list[SlotTarget], slots: _Slots, on_progress: Progress) -> list[Path]:
    """Fill all targets, then publish all; on any failure nothing temporary stays."""
    source = slots.source
    total = sum(target.bytes_to_write for target in targets)
    needs = frozenset(name for target in targets for name in target.needs)
    count = len(source.layers) * source.geometry.n_experts
    started: list[SlotTarget] = []
    try:
        for target in targets:
            started.append(target)
            target.start()
        for done, (layer, expert) in enumerate(_slots_of(source), start=1):
            sections = slots.sections(layer, expert, needs)
            for target in targets:
                target.put(layer, expert, sections)
            on_progress(total * done // count, total)
        for target in targets:
            target.seal()
        return [path for target in targets for path in target.publish()]
    except BaseException:
        for target in started:
            target.discard()
        raise


def _slots_of(source: SlotSource) -> Iterator[tuple[int, int]]:
    for layer in source.layers:
        for expert in range(source.geometry.n_experts):
            yield layer, expert


def _choose_fp4(request: ConvertRequest, source: SlotSource) -> Fp4:
    if request.to is Container.MOET2PF:
        return Fp4.NONE
    if request.fp4 is not Fp4.AUTO:
        return request.fp4
    if set(FP4_SECTIONS) <= set(source.sections):
        return Fp4.PLAIN
    if set(SPLIT_SECTIONS) <= set(source.sections):
        return Fp4.SPLIT
    shards = request.checkpoint is not None and any(request.checkpoint.glob("*.safetensors"))
    return Fp4.PLAIN if shards else Fp4.NONE


def _needed(fp4: Fp4) -> set[str]:
    """Sections that a choice of FP4 parts needs, the scales of an fp4 slot among them."""
    base = set() if fp4 is Fp4.DELTA else set(BASE_SECTIONS)
    extra = {Fp4.PLAIN: FP4_SECTIONS, Fp4.DELTA: FP4_SECTIONS, Fp4.SPLIT: SPLIT_SECTIONS}.get(fp4, ())
    return base | set(extra)


@contextmanager
def _maker(request: ConvertRequest, source: SlotSource, fp4: Fp4) -> Iterator[SlotSource | None]:
    """The checkpoint that gives what the source lacks, None when nothing is lacking."""
    lacking = _needed(fp4) - set(source.sections)
    if not lacking:
        yield None
        return
    if request.checkpoint is None:
        raise UsageError(
            f"{source.path.name} does not hold {', '.join(sorted(lacking))}, which --to {request.to} needs here",
            fix="give --checkpoint DIR, from which they can be made",
        )
    with closing(open_checkpoint(request.checkpoint, world=source.world, rank=source.rank)) as maker:
        yield maker


@contextmanager
def _locked(request: ConvertRequest) -> Iterator[None]:
    """Hold the output folder of a store or cache; a plane file has its own lock."""
    if request.to is Container.MOET2PF:
        yield
        return
    out = request.out
    if not out.parent.is_dir():
        raise ArtefactMissingError(f"the folder {out.parent} does not exist", fix="create it, or choose another --out")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; a {request.to} is a folder", fix="choose another --out")
    lock, is_new = FileLock(out / f".convert{TEMPORARY}.lock", blocking=False), not out.exists()
    try:
        out.mkdir(exist_ok=True)
        lock.acquire()
    except Timeout:
        raise BusyError(
            f"{out} is being written by another moet-boot", fix="wait for it, or choose another --out"
        ) from None
    except OSError as error:
        raise unwritable(out, error) from error
    try:
        yield
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
        if is_new:
            with suppress(OSError):  # not empty: the conversion is in it
                out.rmdir()
