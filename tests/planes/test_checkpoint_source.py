import hashlib
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, UsageError
from moet_boot.planes.checkpoint_source import CheckpointSource
from moet_boot.planes.geometry import SlotKind
from moet_boot.planes.layout import pack_fp4
from moet_boot.planes.open_source import open_checkpoint
from testing.golden import BASE_SEED, golden_json, make_expert
from testing.skip_cases import CHECKPOINT

GOLDEN_SLOTS = golden_json("iv_expected.json")["slots"]


KEYS = {
    SlotKind.BASE: "slot_sha256",
    SlotKind.DELTA: "delta_slot_sha256",
    SlotKind.FP4: "fp4_slot_sha256",
    SlotKind.FP4Q: "fp4q_slot_sha256",
}


def slot_bytes(source: CheckpointSource, kind: SlotKind, layer: int, expert: int) -> bytes:
    names = [section.name for section in source.geometry.sections(kind)]
    sections = source.slot(layer, expert, names)
    return b"".join(sections[name] for name in names)


@pytest.mark.parametrize("kind", SlotKind)
def test_every_golden_slot_of_every_kind(kind: SlotKind) -> None:
    with closing(CheckpointSource(CHECKPOINT)) as source:
        for golden in GOLDEN_SLOTS:
            made = slot_bytes(source, kind, golden["layer"], golden["expert"])
            assert hashlib.sha256(made).hexdigest() == golden[KEYS[kind]]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_two_gets_the_golden_slices(rank: int) -> None:
    body = hashlib.sha256()
    with closing(CheckpointSource(CHECKPOINT, world=2, rank=rank)) as source:
        for golden in GOLDEN_SLOTS:
            body.update(slot_bytes(source, SlotKind.BASE, golden["layer"], golden["expert"]))
    assert body.hexdigest() == golden_json("iv_expected.json")["tp2"][rank]["concat_body_sha256"]


def test_sections_come_alone() -> None:
    with closing(CheckpointSource(CHECKPOINT)) as source:
        assert set(source.slot(1, 3, ["sc2"])) == {"sc2"}
        packed = make_expert(BASE_SEED + 2000 + 3, 256, 128).w2
        assert bytes(source.slot(1, 3, ["fp2"])["fp2"]) == pack_fp4(packed).tobytes()


def test_a_broken_checkpoint_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError):
        open_checkpoint(tmp_path / "none")
    shutil.copytree(CHECKPOINT, tmp_path / "model")
    shard = min((tmp_path / "model").glob("*.safetensors"))
    shard.write_bytes(shard.read_bytes()[:-100])
    with pytest.raises(ArtefactDamagedError, match="model-00001"):
        open_checkpoint(tmp_path / "model")


def test_without_numpy_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "numpy", None)
    for name in ("checkpoint_source", "code_packer", "layout", "quantize", "slots"):
        monkeypatch.delitem(sys.modules, f"moet_boot.planes.{name}", raising=False)
    with pytest.raises(UsageError, match="numpy") as failure:
        open_checkpoint(CHECKPOINT)
    assert "moet-boot[planes]" in failure.value.fix
