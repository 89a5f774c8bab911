import os
from collections.abc import Callable
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.checkpoint import Checkpoint
from moet_boot.planes.code_packer import CodePacker
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.slot_builder import SlotBuilder
from moet_boot.planes.slots import slot_2bit
from testing.checkpoints import SHARD, copy_checkpoint, write_checkpoint
from testing.golden import GOLDEN
from testing.plane_file import OWN, TINY


def test_slots_in_any_order_are_the_golden_ones_with_clean_padding() -> None:
    golden = OWN.read_bytes()
    with Checkpoint(GOLDEN / "iv_ckpt") as checkpoint:
        builder = SlotBuilder(checkpoint)
        for slot in (3, 0, 7, 3):
            start = 8192 + slot * TINY.slot_stride
            assert bytes(builder.build(slot)) == golden[start : start + TINY.slot_stride]


@pytest.mark.parametrize(
    "geometry",
    [Geometry(1, 1, 64, 256), Geometry(1, 1, 256, 64), Geometry(1, 1, 64, 64)],
    ids=["wide", "tall", "small"],
)
def test_buffers_fit_any_shape(geometry: Geometry, tmp_path: Path) -> None:
    (expert,) = write_checkpoint(tmp_path / "checkpoint", geometry, seed=1)
    with Checkpoint(tmp_path / "checkpoint") as checkpoint:
        built = bytes(SlotBuilder(checkpoint).build(0))
    assert built[: geometry.slot_bytes] == slot_2bit(expert).tobytes()
    assert not any(built[geometry.slot_bytes :])


def test_a_shard_that_shrinks_meanwhile_is_one_clear_error(tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    with Checkpoint(folder) as checkpoint:
        builder = SlotBuilder(checkpoint)
        os.truncate(folder / SHARD, 50_000)
        with pytest.raises(ArtefactDamagedError, match=r"00001-of-00003.safetensors cannot be read: the file ends at"):
            builder.build(0)


def test_reading_waits_for_no_turn_and_packing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def noted(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*given: object) -> object:
            seen.append(name)
            return call(*given)

        return wrapped

    class Turn:
        def __enter__(self) -> None:
            seen.append("(")

        def __exit__(self, *error: object) -> None:
            seen.append(")")

    monkeypatch.setattr(DirectReader, "read", noted("read", DirectReader.read))
    monkeypatch.setattr(CodePacker, "pack", noted("pack", CodePacker.pack))
    with Checkpoint(GOLDEN / "iv_ckpt") as checkpoint:
        seen.clear()
        SlotBuilder(checkpoint, Turn()).build(0)
    assert "".join(seen) == "read(pack)read(pack)readreadread(pack)read"
