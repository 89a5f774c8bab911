import os
from pathlib import Path

import pytest

from moet_boot.errors import BusyError, MoetBootError, UsageError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.moet2pf import Header
from moet_boot.planes.moet2pf_read import FileFormat, read_header_facts
from moet_boot.planes.plane_file_source import PlaneFileSource
from moet_boot.planes.plane_file_target import PlaneFileTarget
from testing.fake_planes import TINY, UNEVEN, FakeSource, fill, slot_of


def target(out: Path, geometry: Geometry = TINY, *, force: bool = False) -> PlaneFileTarget:
    return PlaneFileTarget(out, Header(geometry, "a/b", "1234"), b"test", force=force)


@pytest.mark.parametrize("geometry", [TINY, UNEVEN], ids=["tiny", "uneven"])
def test_a_whole_file_that_its_own_reader_takes(geometry: Geometry, tmp_path: Path) -> None:
    writing = target(tmp_path / "x.moet2pf", geometry)
    (out,) = fill(writing, FakeSource(geometry))
    facts = read_header_facts(out)
    assert (facts.format, facts.problems, facts.geometry) == (FileFormat.OWN, (), geometry)
    assert out.stat().st_size == writing.bytes_to_write
    source = PlaneFileSource(out, None)
    try:
        for layer in range(geometry.n_layers):
            for expert in range(geometry.n_experts):
                sections = source.slot(layer, expert, source.sections)
                whole = b"".join(sections[section.name] for section in geometry.sections())
                assert whole == slot_of(geometry, SlotKind.BASE, layer, expert)
    finally:
        source.close()


def test_what_exists_is_in_the_way_unless_forced(tmp_path: Path) -> None:
    (out,) = fill(target(tmp_path / "x"), FakeSource())
    with pytest.raises(UsageError, match="exists already"):
        target(out).claim()
    fill(target(out, force=True), FakeSource())
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_folder_in_the_way_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        target(tmp_path / "x", force=True)


def test_a_second_writer_is_locked_out_and_destroys_nothing(tmp_path: Path) -> None:
    first, second = target(tmp_path / "x"), target(tmp_path / "x")
    first.claim()
    first.start()
    source = FakeSource()
    first.put(0, 0, source.slot(0, 0, first.needs))
    with pytest.raises(BusyError, match="being written"):
        second.start()
    second.discard()
    for layer in (0, 1):
        for expert in range(3):
            first.put(layer, expert, source.slot(layer, expert, first.needs))
    first.seal()
    (out,) = first.publish()
    assert read_header_facts(out).problems == ()


def test_nothing_is_left_of_an_abandoned_file(tmp_path: Path) -> None:
    writing = target(tmp_path / "x")
    writing.claim()
    writing.start()
    writing.put(0, 0, FakeSource().slot(0, 0, writing.needs))
    writing.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["fsync", "rename"])
def test_a_disk_that_fails_at_the_end_is_one_clear_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_args: object, **_kwargs: object) -> None:
        raise OSError(5, os.strerror(5))

    writing = target(tmp_path / "x")
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing)
        with pytest.raises(MoetBootError, match="Input/output error"):
            fill(writing, FakeSource())
    writing.discard()
    assert list(tmp_path.iterdir()) == []
