from pathlib import Path

import pytest

from moet_boot.errors import UsageError
from moet_boot.fetch.wanted import target_folder, wanted_artefacts
from moet_boot.profile.load import load_profile
from moet_boot.profile.model import ArtefactKind
from tests.fetch.scene import CHECKPOINT, MODEL, artefact, profile_with

DIR = Path("/data")


def test_the_spark_profile_says_what_to_fetch() -> None:
    (checkpoint, planes), left = wanted_artefacts(load_profile("spark"), DIR)
    assert left == {}
    assert (checkpoint.repo, checkpoint.source) == ("deepseek-ai/DeepSeek-V4-Flash", "")
    assert checkpoint.revision == "60d8d70770c6776ff598c94bb586a859a38244f1"
    assert checkpoint.path == checkpoint.root == DIR / "DeepSeek-V4-Flash"
    assert (planes.source, planes.path, planes.root) == ("ds4-planes.moet2pf", DIR / "ds4-planes.moet2pf", DIR)
    assert planes.revision is None
    assert planes.sha256 == "998610cd65bbdad730229492dc2e3da2a1723ef73529fb027e676475c70ead35"


def test_caches_are_folders_of_one_repository() -> None:
    (_, cache, store), _ = wanted_artefacts(load_profile("rtx6000-a"), DIR)
    assert cache.repo == store.repo
    assert cache.local("planescache/tp1-rank0/meta.json") == DIR / "planescache" / "tp1-rank0" / "meta.json"
    assert store.local("moet_store/base.rank0of1.pack") == DIR / "moet_store" / "base.rank0of1.pack"


def test_files_go_below_the_checkpoint() -> None:
    (wanted,), _ = wanted_artefacts(profile_with(checkpoint=CHECKPOINT), DIR)
    assert wanted.local("assets/logo.png") == DIR / "model" / "assets" / "logo.png"


def test_a_plane_file_gets_the_name_that_the_profile_looks_for() -> None:
    planes = artefact(ArtefactKind.PLANE_FILE, "/mnt/mine.moet2pf", "o/r", file="published.moet2pf")
    (wanted,), _ = wanted_artefacts(profile_with(planes=planes), DIR)
    assert wanted.local("published.moet2pf") == DIR / "mine.moet2pf"


def test_a_plane_file_without_a_name_on_the_hub_is_called_as_here() -> None:
    planes = artefact(ArtefactKind.PLANE_FILE, "/mnt/mine.moet2pf", "o/r")
    (wanted,), _ = wanted_artefacts(profile_with(planes=planes), DIR)
    assert wanted.source == "mine.moet2pf"


@pytest.mark.parametrize(("folder", "at_home"), [("~/models", True), ("/data", False)])
def test_it_knows_where_the_profile_looks_anyway(folder: str, at_home: bool) -> None:
    wanted, _ = wanted_artefacts(load_profile("spark"), Path(folder).expanduser())
    assert {one.at_home for one in wanted} == {at_home}


def test_only_what_was_asked_for() -> None:
    (wanted,), left = wanted_artefacts(load_profile("spark"), DIR, ["plane_file"])
    assert (wanted.name, left) == ("plane_file", {})


def test_an_artefact_without_a_repository_says_so() -> None:
    store = artefact(ArtefactKind.PACK_STORE, "/srv/store", None)
    (wanted,), left = wanted_artefacts(profile_with(checkpoint=CHECKPOINT, store=store), DIR)
    assert wanted.name == "checkpoint"
    assert left == {"store": "the profile names no repository: bring it to /srv/store"}


@pytest.mark.parametrize(
    ("only", "named"),
    [
        pytest.param(["plane"], "plane_file", id="nearly"),
        pytest.param(["everything"], "it has: checkpoint, plane_file, store", id="unknown"),
        pytest.param(["store"], "names no repository", id="without-a-repository"),
        pytest.param(["checkpoint", "store"], "names no repository", id="one-of-two"),
    ],
)
def test_only_of_what_cannot_be(only: list[str], named: str) -> None:
    spark = load_profile("spark").artefacts
    profile = profile_with(**spark, store=artefact(ArtefactKind.PACK_STORE, "/srv/store", None))
    with pytest.raises(UsageError) as caught:
        wanted_artefacts(profile, DIR, only)
    assert named in str(caught.value)


def test_a_profile_without_any_repository() -> None:
    with pytest.raises(UsageError, match=r"nothing can be fetched for checkpoint: profile demo names no repository"):
        wanted_artefacts(load_profile("demo"), DIR)


def test_two_artefacts_never_share_a_place() -> None:
    one = artefact(ArtefactKind.CHECKPOINT, "/a/model", MODEL)
    other = artefact(ArtefactKind.PACK_STORE, "/b/model", MODEL)
    with pytest.raises(UsageError, match="would both become /data/model"):
        wanted_artefacts(profile_with(one=one, other=other), DIR)


@pytest.mark.parametrize(
    ("text", "folder"),
    [("/data", Path("/data")), ("~/models", Path.home() / "models"), ("here", Path.cwd() / "here"), (".", Path.cwd())],
)
def test_the_folder_that_is_meant(text: str, folder: Path) -> None:
    assert target_folder(text) == folder


@pytest.mark.parametrize("text", ["", "  ", "~nobody-of-this-name/models"])
def test_no_folder_is_not_the_present_one(text: str) -> None:
    with pytest.raises(UsageError, match="names no folder"):
        target_folder(text)
