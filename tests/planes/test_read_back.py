import hashlib
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes import whole_file
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf import Header, table_from_bytes
from moet_boot.planes.progress import no_progress
from moet_boot.planes.read_back import ReadBack
from testing.plane_file import flip, write_plane_file

# slots with and without padding, and two whole ones in a piece
GEOMETRIES = [Geometry(1, 3, 64, 64), Geometry(2, 2, 256, 128), Geometry(1, 2, 1024, 512)]


def read_back(path: Path, header: Header) -> ReadBack:
    table = path.read_bytes()[4096 : header.layout.body_offset]
    digests = [entry.sha256 for entry in table_from_bytes(table, header.geometry.n_slots)]
    found = ReadBack(no_progress)
    found(path, header, digests)
    return found


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=["small", "padded", "no padding"])
@pytest.mark.parametrize("piece", [4096, 20_480, 1 << 20], ids=str)
def test_a_whole_file_reads_back_with_its_digest(
    geometry: Geometry, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_file, "CHUNK_BYTES", piece)
    header = write_plane_file(tmp_path / "planes", geometry, seed=1)
    found = read_back(tmp_path / "planes", header)
    assert found.sha256 == hashlib.sha256((tmp_path / "planes").read_bytes()).hexdigest()
    assert found.seconds > 0


@pytest.mark.parametrize("slot", range(4))
def test_any_slot_that_is_not_as_it_was_written_is_named(
    slot: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_file, "CHUNK_BYTES", 8192)
    header = write_plane_file(tmp_path / "planes", GEOMETRIES[1], seed=1)
    flip(tmp_path / "planes", header.layout.slot_offset(slot) + GEOMETRIES[1].slot_bytes - 1)
    with pytest.raises(ArtefactDamagedError, match=f"as it was written: slot {slot} ->"):
        read_back(tmp_path / "planes", header)


def test_the_header_on_the_disk_is_not_looked_at(tmp_path: Path) -> None:
    header = write_plane_file(tmp_path / "planes", GEOMETRIES[0], seed=1)
    digest = hashlib.sha256((tmp_path / "planes").read_bytes()).hexdigest()
    flip(tmp_path / "planes", 100)
    assert read_back(tmp_path / "planes", header).sha256 == digest


def test_a_file_that_was_cut_is_damaged(tmp_path: Path) -> None:
    header = write_plane_file(tmp_path / "planes", GEOMETRIES[1], seed=1)
    with (tmp_path / "planes").open("r+b") as file:
        file.truncate(header.layout.slot_offset(3))
    with pytest.raises(ArtefactDamagedError, match="as it was written: 94208 bytes of 122880"):
        read_back(tmp_path / "planes", header)


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    header = write_plane_file(tmp_path / "planes", Geometry(2, 5, 64, 64), seed=1)
    for slot in range(10):
        flip(tmp_path / "planes", header.layout.slot_offset(slot))
    with pytest.raises(ArtefactDamagedError, match=r"slot 0, slot 1, .*, slot 7 and 2 more ->"):
        read_back(tmp_path / "planes", header)
