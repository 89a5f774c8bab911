import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.hole_layers import file_holes
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.pack_target import PackTarget
from moet_boot.planes.server_version import ServerVersion
from testing.fake_planes import TINY, UNEVEN, FakeSource, fill, slot_of

V1, V2 = ServerVersion.V1, ServerVersion.V2


def target(
    store: Path,
    geometry: Geometry = TINY,
    kind: SlotKind = SlotKind.BASE,
    server: ServerVersion = V1,
    layers: tuple[int, ...] | None = None,
    *,
    force: bool = False,
) -> PackTarget:
    identity = PackIdentity(PackShape.of(geometry, kind), "id")
    chosen = tuple(range(geometry.n_layers)) if layers is None else layers
    return PackTarget(store, identity, geometry, chosen, server=server, suffix="rank0of1", force=force)


@pytest.mark.parametrize("kind", SlotKind)
@pytest.mark.parametrize("geometry", [TINY, UNEVEN], ids=["tiny", "uneven"])
def test_every_row_lies_in_its_place_with_zeros_after_it(geometry: Geometry, kind: SlotKind, tmp_path: Path) -> None:
    pack, sidecar = fill(target(tmp_path, geometry, kind), FakeSource(geometry))
    shape = PackShape.of(geometry, kind)
    data = pack.read_bytes()
    assert len(data) == shape.file_bytes
    for layer in range(geometry.n_layers):
        for expert in range(geometry.n_experts):
            row = data[shape.offset(layer, expert) :][: shape.stride]
            slot = slot_of(geometry, kind, layer, expert)
            assert row == slot.ljust(shape.stride, b"\0")
    assert not any(data[shape.offset(geometry.n_layers, 0) :])
    assert json.loads(sidecar.read_text())["layers"] == list(range(geometry.n_layers))


def test_the_spare_layer_stays_a_hole(tmp_path: Path) -> None:
    pack, _ = fill(target(tmp_path), FakeSource())
    shape = PackShape.of(TINY, SlotKind.BASE)
    (hole,) = file_holes(pack)
    assert (hole.start, hole.end) == (shape.offset(TINY.n_layers, 0), shape.file_bytes)


def test_layers_that_are_left_out_are_holes_and_not_listed(tmp_path: Path) -> None:
    pack, sidecar = fill(target(tmp_path, layers=(1,)), FakeSource(layers=(1,)))
    assert json.loads(sidecar.read_text())["layers"] == [1]
    assert file_holes(pack)[0].start == 0


@pytest.mark.parametrize(("server", "names"), [(V1, {".pack", ".json"}), (V2, {".pack", ".json", ".lock"})])
def test_the_files_of_each_server(server: ServerVersion, names: set[str], tmp_path: Path) -> None:
    fill(target(tmp_path, server=server), FakeSource())
    assert {path.suffix for path in tmp_path.iterdir()} == names
    assert len({path.stem for path in tmp_path.iterdir()}) == 1


def test_nothing_has_its_name_before_it_is_published(tmp_path: Path) -> None:
    writing, source = target(tmp_path), FakeSource()
    writing.claim()
    writing.start()
    for layer in source.layers:
        for expert in range(3):
            writing.put(layer, expert, source.slot(layer, expert, writing.needs))
    writing.seal()
    assert [".tmp" in path.name for path in tmp_path.iterdir()] == [True]
    writing.discard()
    assert list(tmp_path.iterdir()) == []


def test_the_sidecar_comes_last_and_an_old_one_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the pack changes under its name no sidecar vouches for it."""
    fill(target(tmp_path), FakeSource())
    seen: list[bool] = []
    replace = Path.replace

    def spy(self: Path, to: Path) -> Path:
        seen.append((tmp_path / "base.rank0of1.json").exists())
        return replace(self, to)

    monkeypatch.setattr(Path, "replace", spy)
    fill(target(tmp_path, force=True), FakeSource())
    assert seen == [False, False]
    assert (tmp_path / "base.rank0of1.json").exists()


@pytest.mark.parametrize("name", ["base.rank0of1.pack", "base.rank0of1.json"])
def test_either_file_alone_is_in_the_way(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        target(tmp_path).claim()
    target(tmp_path, force=True).claim()
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_in_the_way_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "base.rank0of1.pack").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        target(tmp_path, force=True).claim()


def test_what_a_killed_run_left_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "base.rank0of1.pack.tmp-moet-boot").write_bytes(b"old" * 100_000)
    pack, _ = fill(target(tmp_path), FakeSource())
    assert pack.stat().st_size == PackShape.of(TINY, SlotKind.BASE).file_bytes


def test_a_target_that_was_not_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="not started"):
        target(tmp_path).put(0, 0, {})


@settings(max_examples=15, deadline=None)
@given(
    layers=st.integers(1, 3),
    experts=st.integers(1, 3),
    hidden=st.sampled_from([64, 128, 192]),
    inter=st.sampled_from([64, 128]),
    kind=st.sampled_from(SlotKind),
)
def test_sizes_are_as_announced(
    layers: int, experts: int, hidden: int, inter: int, kind: SlotKind, tmp_path_factory: pytest.TempPathFactory
) -> None:
    geometry = Geometry(layers, experts, hidden, inter)
    writing = target(tmp_path_factory.mktemp("store"), geometry, kind)
    pack, _ = fill(writing, FakeSource(geometry))
    shape = PackShape.of(geometry, kind)
    assert pack.stat().st_size == shape.file_bytes
    assert writing.bytes_to_write == layers * shape.layer_bytes
