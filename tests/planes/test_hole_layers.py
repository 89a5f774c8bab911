from pathlib import Path

import pytest

from moet_boot.planes.hole_layers import file_holes, layers_with_holes
from moet_boot.planes.holes import Hole


def test_holes_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"x" * 4096)
        file.truncate(12288)
    assert file_holes(path) == [Hole(4096, 12288)]
    assert layers_with_holes(path, 4096, frozenset({0, 2})) == (2,)
    path.write_bytes(b"x" * 8192)
    assert file_holes(path) == []
    path.write_bytes(b"")
    assert file_holes(path) == []


@pytest.mark.parametrize(
    ("start", "layer_bytes", "expected"),
    [(0, 4096, (1,)), (0, 8192, (0,)), (4096, 4096, (0,)), (0, 2048, (2, 3)), (0, 65536, (0,))],
)
def test_layers_that_a_hole_reaches_into(
    start: int, layer_bytes: int, expected: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"x" * 4096)
        file.seek(8192)
        file.write(b"x" * 4096)
    assert layers_with_holes(path, layer_bytes, frozenset(range(8)), start) == expected
