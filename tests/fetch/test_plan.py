from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, UsageError
from moet_boot.fetch import plan as module
from moet_boot.fetch.hub import Hub
from moet_boot.fetch.plan import RESERVE_BYTES, FetchPlan, plan_fetch
from moet_boot.fetch.wanted import wanted_artefacts
from moet_boot.profile.model import Artefact, ArtefactKind
from tests.fetch.fake_hub import COMMIT, FakeHub
from tests.fetch.scene import MODEL, PLANE_FILE, PLANES, artefact, profile_with


def planned(fake: FakeHub, folder: Path, **artefacts: Artefact) -> FetchPlan:
    wanted, left = wanted_artefacts(profile_with(**artefacts), folder)
    return plan_fetch(Hub(fake.url), wanted, left, folder)


def test_everything_is_to_come(fake: FakeHub, tmp_path: Path) -> None:
    plan = planned(fake, tmp_path / "new" / "folder")
    model, planes = plan.artefacts
    assert (model.commit, len(model.files)) == (COMMIT, len(fake.repos[MODEL]))
    assert model.size_bytes == model.missing_bytes == sum(map(len, fake.repos[MODEL].values()))
    assert [file.place.target.name for file in planes.files] == ["planes.moet2pf"]
    assert plan.missing_bytes == model.size_bytes + planes.size_bytes
    assert plan.fits
    assert not (tmp_path / "new").exists()


def test_a_branch_is_asked_for_only_where_nothing_is_pinned(fake: FakeHub, tmp_path: Path) -> None:
    planned(fake, tmp_path)
    assert [asked.path for asked in fake.requests if "/revision/" in asked.path] == [
        f"/api/models/{PLANES}/revision/main"
    ]


def test_what_is_there_by_size_and_what_is_begun_is_not_counted(fake: FakeHub, tmp_path: Path) -> None:
    first = planned(fake, tmp_path)
    place = next(f.place for f in first.artefacts[0].files if f.place.file.path == "config.json")
    place.prepare()
    place.target.write_bytes(bytes(place.file.size))
    planes = first.artefacts[1].files[0].place
    planes.prepare()
    planes.part.write_bytes(bytes(8192 + 1))
    second = planned(fake, tmp_path)
    assert second.missing_bytes == first.missing_bytes - place.file.size - 8192


def test_two_artefacts_of_one_repository_are_listed_once(fake: FakeHub, tmp_path: Path) -> None:
    fake.repos["o/cache"] = {"planes/a.bin": b"12", "store/b.bin": b"3", "planes-old/c.bin": b"4"}
    plan = planned(
        fake,
        tmp_path,
        planes=artefact(ArtefactKind.PLANES_CACHE, "/x/p", "o/cache", file="planes"),
        store=artefact(ArtefactKind.PACK_STORE, "/x/s", "o/cache", file="store", revision=COMMIT),
    )
    targets = [[str(f.place.target.relative_to(tmp_path)) for f in a.files] for a in plan.artefacts]
    assert targets == [["p/a.bin"], ["s/b.bin"]]
    assert sum("/tree/" in asked.path for asked in fake.requests) == 1


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        pytest.param(PLANE_FILE.model_copy(update={"file": "q.moet2pf"}), "does not have q.moet2pf", id="file"),
        pytest.param(
            artefact(ArtefactKind.PACK_STORE, "/x/s", MODEL, file="store"), "does not have store", id="folder"
        ),
    ],
)
def test_what_the_commit_does_not_have(fake: FakeHub, tmp_path: Path, wanted: Artefact, named: str) -> None:
    with pytest.raises(ArtefactMissingError, match=named):
        planned(fake, tmp_path, it=wanted)


def test_an_empty_repository(fake: FakeHub, tmp_path: Path) -> None:
    fake.repos["o/empty"] = {}
    with pytest.raises(ArtefactMissingError, match="does not have a file"):
        planned(fake, tmp_path, it=artefact(ArtefactKind.CHECKPOINT, "/x/m", "o/empty"))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"sha256": "0" * 64}, "the profile pins sha256 0000", id="content"),
        pytest.param({"size_bytes": 5, "sha256": None}, "the profile pins 5", id="size"),
    ],
)
def test_another_file_than_the_pinned_one_is_not_even_begun(
    fake: FakeHub, tmp_path: Path, change: dict[str, object], named: str
) -> None:
    with pytest.raises(ArtefactDamagedError, match=named):
        planned(fake, tmp_path, planes=PLANE_FILE.model_copy(update=change))
    assert fake.file_requests() == []


def test_a_pinned_digest_counts_also_where_the_hub_has_the_file_in_git(fake: FakeHub, tmp_path: Path) -> None:
    fake.large = lambda _path: False
    (planes,) = planned(fake, tmp_path, planes=PLANE_FILE).artefacts
    assert planes.files[0].place.file.etag == PLANE_FILE.sha256


@pytest.mark.parametrize(("free", "fits"), [(RESERVE_BYTES + 10, True), (RESERVE_BYTES + 9, False), (0, False)])
def test_a_gib_must_stay_free(
    fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, fits: bool
) -> None:
    fake.repos["o/ten"] = {"w.bin": bytes(10)}
    monkeypatch.setattr(module, "_free_bytes", lambda _folder: free)
    plan = planned(fake, tmp_path, it=artefact(ArtefactKind.CHECKPOINT, "/x/m", "o/ten"))
    assert plan.fits is fits


def test_a_full_disk_is_no_obstacle_when_everything_is_there(fake: FakeHub, tmp_path: Path) -> None:
    plan = planned(fake, tmp_path)
    assert FetchPlan(plan.folder, (), {}, free_bytes=0).fits


@pytest.mark.parametrize("below", ["", "sub/folder"])
def test_a_file_is_no_folder(fake: FakeHub, tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError, match="is no folder"):
        planned(fake, file / below)
