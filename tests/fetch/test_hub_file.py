import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError
from moet_boot.fetch.hub_file import HubFile

BLOB_OF_NOTHING = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
BLOB_OF_HELLO = "ce013625030ba8dba906f756967f9e9ca394464a"


@pytest.mark.parametrize(
    ("content", "blob"), [(b"", BLOB_OF_NOTHING), (b"hello\n", BLOB_OF_HELLO)], ids=["empty", "hello"]
)
def test_a_small_file_has_the_digest_of_git(tmp_path: Path, content: bytes, blob: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    file = HubFile("f", len(content), blob)
    assert not file.large
    assert file.digest_of(path) == blob


@given(content=st.binary(max_size=10_000))
def test_a_large_file_has_its_sha256(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "large"
    path.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    assert HubFile("f", len(content), sha256).digest_of(path) == sha256


def test_progress_ends_at_the_size(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(9 << 20))
    seen: list[tuple[int, int]] = []
    HubFile("f", 9 << 20, "0" * 64).digest_of(path, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (9 << 20, 9 << 20)


@pytest.mark.parametrize("digits", [40, 64], ids=["small", "large"])
def test_what_cannot_be_read_is_an_artefact_error(tmp_path: Path, digits: int) -> None:
    file = HubFile("f", 1, "0" * digits)
    with pytest.raises(ArtefactMissingError):
        file.digest_of(tmp_path / "nothing")
    with pytest.raises(ArtefactDamagedError):
        file.digest_of(tmp_path)
