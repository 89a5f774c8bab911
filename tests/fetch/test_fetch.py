from pathlib import Path

import pytest
from filelock import FileLock

from moet_boot.errors import ArtefactMissingError, BusyError, MoetBootError, UsageError
from moet_boot.fetch.bring import Carrier
from moet_boot.fetch.fetch import LOCK, fetch_profile, plan_profile
from moet_boot.fetch.hub import Hub
from moet_boot.machine.checkpoint import read_checkpoint
from tests.fetch.fake_hub import COMMIT, FakeHub
from tests.fetch.scene import CHECKPOINT, MODEL, profile_with


@pytest.fixture
def carrier(fake: FakeHub) -> Carrier:
    return Carrier(Hub(fake.url), sleep=lambda _: None)


def test_a_profile_is_fetched(carrier: Carrier, fake: FakeHub, tmp_path: Path) -> None:
    plan, (model, planes) = fetch_profile(carrier, profile_with(), tmp_path / "data")
    assert plan.folder == tmp_path / "data"
    assert len(model.files) == len(fake.repos[MODEL])
    assert model.notes == planes.notes == ()
    seen = read_checkpoint(str(tmp_path / "data/model"))
    assert (seen.revision, seen.shards_present, seen.problems, seen.incomplete_blobs) == (COMMIT, 3, [], 0)


def test_a_second_fetch_has_nothing_to_do_and_a_dry_run_says_so(
    carrier: Carrier, fake: FakeHub, tmp_path: Path
) -> None:
    fetch_profile(carrier, profile_with(), tmp_path)
    assert plan_profile(carrier.hub, profile_with(), tmp_path).missing_bytes == 0


def test_a_file_that_was_edited_is_named(carrier: Carrier, fake: FakeHub, tmp_path: Path) -> None:
    fetch_profile(carrier, profile_with(), tmp_path)
    (tmp_path / "model/config.json").write_text("mine")
    _, (model, _) = fetch_profile(Carrier(Hub(fake.url)), profile_with(), tmp_path)
    assert model.notes == (f"{tmp_path}/model/config.json.replaced-1 is what was there before",)


def test_two_fetches_in_one_folder(carrier: Carrier, tmp_path: Path) -> None:
    with FileLock(tmp_path / LOCK), pytest.raises(BusyError, match="another fetch works in"):
        fetch_profile(carrier, profile_with(), tmp_path)


@pytest.mark.parametrize("fails", [False, True])
def test_the_folder_is_free_again_afterwards(carrier: Carrier, fake: FakeHub, tmp_path: Path, fails: bool) -> None:
    if fails:
        del fake.repos[MODEL]
        with pytest.raises(ArtefactMissingError):
            fetch_profile(carrier, profile_with(), tmp_path)
    else:
        fetch_profile(carrier, profile_with(), tmp_path)
    FileLock(tmp_path / LOCK).acquire(timeout=0).lock.release()


def test_nothing_is_made_for_a_request_that_makes_no_sense(carrier: Carrier, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        fetch_profile(carrier, profile_with(), tmp_path / "new", ["nonsense"])
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made(carrier: Carrier, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MoetBootError, match="cannot be written"):
        fetch_profile(carrier, profile_with(checkpoint=CHECKPOINT), tmp_path / "file" / "below")
