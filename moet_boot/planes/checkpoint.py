"""The routed experts of a DeepSeek-V4-Flash checkpoint: found and checked before any long work (planes.md a.2)."""

import hashlib
import json
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.planes.direct_io import DirectReader, unreadable
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.holes import find_holes
from moet_boot.planes.safetensors_header import TensorPlace, read_tensor_places
from moet_boot.planes.utf8 import is_utf8

INDEX_NAME = "model.safetensors.index.json"
MAX_JSON_BYTES = 256 << 20
EXPERT_NAME = re.compile(r"layers\.[0-9]+\.ffn\.experts\.[0-9]+\.w[123]\.(weight|scale)")
# raw bytes are taken whatever the type says; U8 is how some tools rewrite either
DTYPES = {"weight": {"I8", "U8"}, "scale": {"F8_E8M0", "U8"}}
FETCH = "fetch the checkpoint again, all of it, at one revision"


@dataclass(frozen=True, slots=True)
class TensorSpan:
    """The bytes of one tensor: an open shard and where in it."""

    shard: DirectReader
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class ExpertSpans:
    """Where the six tensors of one expert are."""

    w1: TensorSpan
    w3: TensorSpan
    w2: TensorSpan
    w1_scale: TensorSpan
    w3_scale: TensorSpan
    w2_scale: TensorSpan

    def spans(self) -> tuple[TensorSpan, ...]:
        """All six."""
        return self.w1, self.w3, self.w2, self.w1_scale, self.w3_scale, self.w2_scale


@dataclass(frozen=True)
class CheckpointIdentity:
    """What a checkpoint's small files say: geometry, and the digest of the index."""

    folder: Path
    geometry: Geometry
    index_sha256: bytes


def read_identity(folder: Path) -> CheckpointIdentity:
    """Read config.json and the index of a checkpoint; raises the artefact errors."""
    config = _json_object(folder / "config.json", _read_small(folder / "config.json"))
    index = _read_small(folder / INDEX_NAME)
    return CheckpointIdentity(folder, Geometry.from_config(config), hashlib.sha256(index).digest())


class Checkpoint:
    """The experts of a checkpoint folder, with their shards open; a context manager.

    Entering raises ArtefactMissingError or ArtefactDamagedError for anything missing, extra, of the wrong
    shape or type, truncated, not where the index says, or for a config that no planes fit.
    """

    def __init__(self, folder: Path) -> None:
        _require_folder(folder)
        self.folder = folder
        identity = read_identity(folder)
        self.geometry, self.index_sha256 = identity.geometry, identity.index_sha256
        self._close = ExitStack()
        self._experts: list[ExpertSpans] = []
        self._shard_names: list[str] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            spans = self._find_tensors(stack)
            self._close = stack.pop_all()
        experts = range(self.geometry.n_experts)
        self._experts = [
            ExpertSpans(*(spans[name] for name in tensor_names(layer, expert)))
            for layer in range(self.geometry.n_layers)
            for expert in experts
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close.close()

    def expert(self, slot: int) -> ExpertSpans:
        """The tensors of expert `slot % n_experts` of layer `slot // n_experts`."""
        return self._experts[slot]

    @property
    def fingerprint(self) -> bytes:
        """Changes when a shard is replaced: names, sizes and times of all shards with experts."""
        states = sorted(
            (shard.path.name, shard.size, shard.state.mtime_ns, shard.state.ctime_ns) for shard in self._shards
        )
        return json.dumps([self.index_sha256.hex(), states]).encode()

    def holds(self, path: Path) -> bool:
        """Whether a path is one of the files that the checkpoint is made of."""
        names = ("config.json", INDEX_NAME, *self._shard_names)
        return path.exists() and any(path.samefile(self.folder / name) for name in names)

    def require_unchanged(self) -> None:
        """Raise ArtefactDamagedError when somebody wrote to a shard since it was opened."""
        changed = sorted(str(shard.path) for shard in self._shards if shard.changed)
        if changed:
            raise ArtefactDamagedError(
                f"{', '.join(changed)} changed while planes were made from it",
                fix="wait until nobody writes to the checkpoint, then run the same command again",
            )

    @property
    def _shards(self) -> set[DirectReader]:
        """The shards with experts."""
        return {span.shard for expert in self._experts for span in expert.spans()}

    def require_written(self) -> None:
        """Raise ArtefactDamagedError when a download left holes where experts should be: zeros would be packed."""
        spans = [span for expert in self._experts for span in expert.spans()]
        for shard in self._shards:
            holes = find_holes(shard.fd, 0, shard.size)
            mine = [span for span in spans if span.shard is shard] if holes else []
            for hole in holes:
                if any(span.offset < hole.end and hole.start < span.offset + span.size for span in mine):
                    raise ArtefactDamagedError(
                        f"{shard.path} was never written from byte {hole.start} to {hole.end - 1}: a hole in the file",
                        fix=FETCH,
                    )

    def _find_tensors(self, stack: ExitStack) -> dict[str, TensorSpan]:
        by_shard = self._index_by_shard()
        _require_names(self.geometry, {name for names in by_shard.values() for name in names})
        spans: dict[str, TensorSpan] = {}
        self._shard_names = sorted(by_shard)
        for shard_name, names in sorted(by_shard.items()):
            reader = stack.enter_context(DirectReader(self.folder / shard_name))
            places = read_tensor_places(reader)
            _require_as_indexed(reader.path, names, set(filter(EXPERT_NAME.fullmatch, places)))
            for name in names:
                _require_tensor(self.geometry, reader.path, name, places[name])
                spans[name] = TensorSpan(reader, places[name].offset, places[name].size)
        return spans

    def _index_by_shard(self) -> dict[str, set[str]]:
        """Names of expert tensors by the shard that the index gives for them; none for other shards."""
        path = self.folder / INDEX_NAME
        weight_map = _json_object(path, _read_small(path)).get("weight_map")
        if not isinstance(weight_map, dict):
            raise ArtefactDamagedError(f"{path} has no weight_map", fix=FETCH)
        by_shard: dict[str, set[str]] = {}
        for name, shard in weight_map.items():
            if not isinstance(shard, str) or Path(shard).name != shard or "\0" in shard or not is_utf8(shard):
                raise ArtefactDamagedError(f"{path} names an impossible shard for {name}: {shard!r}", fix=FETCH)
            experts = by_shard.setdefault(shard, set())
            if EXPERT_NAME.fullmatch(name):
                experts.add(name)
        return by_shard


def tensor_names(layer: int, expert: int) -> Iterator[str]:
    """The names of an expert's tensors, in the order of ExpertSpans."""
    for part in ("weight", "scale"):
        for matrix in ("w1", "w3", "w2"):
            yield f"layers.{layer}.ffn.experts.{expert}.{matrix}.{part}"


def _require_names(geometry: Geometry, found: set[str]) -> None:
    wanted = {
        name
        for layer in range(geometry.n_layers)
        for expert in range(geometry.n_experts)
        for name in tensor_names(layer, expert)
    }
    size = f"{geometry.n_layers} layers of {geometry.n_experts} experts"
    _require_none(wanted - found, lambda names: f"the index lacks {names}, config.json promises {size}")
    _require_none(found - wanted, lambda names: f"the index has {names} beyond the {size} of config.json")


def _require_as_indexed(path: Path, indexed: set[str], held: set[str]) -> None:
    _require_none(indexed - held, lambda names: f"{path} lacks {names}, the index says that they are in it")
    _require_none(held - indexed, lambda names: f"{path} holds {names}, the index says that they are elsewhere")


def _require_none(names: set[str], say: Callable[[str], str]) -> None:
    if names:
        count = f"{len(names)} expert tensors, among them " if len(names) > 1 else ""
        raise ArtefactDamagedError(say(f"{count}{min(names)}"), fix=FETCH)


def _require_tensor(geometry: Geometry, path: Path, name: str, place: TensorPlace) -> None:
    matrix, part = name.split(".")[-2:]
    rows, columns = (geometry.hidden, geometry.inter) if matrix == "w2" else (geometry.inter, geometry.hidden)
    shape = (rows, columns // (2 if part == "weight" else 32))
    if place.dtype not in DTYPES[part]:
        raise ArtefactDamagedError(
            f"{name} in {path} has type {place.dtype}, expected {' or '.join(sorted(DTYPES[part]))}", fix=FETCH
        )
    if place.shape != shape or place.size != shape[0] * shape[1]:
        raise ArtefactDamagedError(
            f"{name} in {path} has shape {list(place.shape)} in {place.size} bytes, expected {list(shape)}", fix=FETCH
        )


def _require_folder(folder: Path) -> None:
    try:
        if stat.S_ISDIR(folder.stat().st_mode):
            return
    except OSError as error:
        raise unreadable(folder, error) from error
    raise ArtefactMissingError(f"{folder} is no folder with a checkpoint", fix="name the folder of its shards")


def _read_small(path: Path) -> bytes:
    try:
        with DirectReader(path, direct=False) as reader:
            if reader.size > MAX_JSON_BYTES:
                raise ArtefactDamagedError(f"{path} has {reader.size} bytes: no description", fix=FETCH)
            return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def _json_object(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ArtefactDamagedError(f"{path} is no JSON: {error}", fix=FETCH) from error
    if not isinstance(value, dict):
        raise ArtefactDamagedError(f"{path} is no JSON object", fix=FETCH)
    return value
