from pathlib import Path

import pytest

from moet_boot.errors import UsageError
from moet_boot.planes.path_map import PathMap


@pytest.mark.parametrize(
    ("mounts", "path", "host"),
    [
        ([], "/model", "/model"),
        (["/a=/x"], "/a/b", "/x/b"),
        (["/a=/x"], "/a", "/x"),
        (["/a=/x"], "/ab", None),
        (["/a=/x", "/a/b=/y"], "/a/b/c", "/y/c"),
        (["/a/=/x/"], "/a/b/", "/x/b"),
        (["/=/mnt"], "/store", "/mnt/store"),
        (["/a=/x=y"], "/a", "/x=y"),
    ],
)
def test_the_longest_mount_wins(mounts: list[str], path: str, host: str | None) -> None:
    found = PathMap.parse(mounts).host(path)
    assert found == (None if host is None else Path(host))


@pytest.mark.parametrize("text", ["", "/a", "=/x", "/a=", "a=/x"])
def test_a_mount_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="CONTAINER=HOST"):
        PathMap.parse([text])
