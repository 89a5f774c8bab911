import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.fetch.bring import Brought, Carrier
from moet_boot.fetch.hub import Hub
from moet_boot.fetch.plan import FetchPlan, plan_fetch
from moet_boot.fetch.trouble import NetworkError
from moet_boot.fetch.wanted import wanted_artefacts
from tests.fetch.fake_hub import FakeHub, Fault, Request
from tests.fetch.scene import CHECKPOINT, MIB, MODEL, noise, profile_with

SHARD = "model-00002-of-00003.safetensors"


def planned(fake: FakeHub, folder: Path) -> FetchPlan:
    wanted, left = wanted_artefacts(profile_with(checkpoint=CHECKPOINT), folder)
    return plan_fetch(Hub(fake.url), wanted, left, folder)


def bring(fake: FakeHub, folder: Path, **more: object) -> dict[str, Brought]:
    """Plan and bring; what became of each file by its name on the hub."""
    carrier = Carrier(Hub(fake.url), sleep=lambda _: None, **more)  # type: ignore[arg-type]
    (files,) = carrier.bring(planned(fake, folder)).values()
    return {file.place.file.path: file for file in files}


def assert_right(fake: FakeHub, folder: Path) -> None:
    for path, content in fake.repos[MODEL].items():
        assert (folder / "model" / path).read_bytes() == content


def test_everything_comes(fake: FakeHub, tmp_path: Path) -> None:
    brought = bring(fake, tmp_path)
    assert set(brought) == set(fake.repos[MODEL])
    assert all(file.fetched and not file.replaced for file in brought.values())
    assert_right(fake, tmp_path)


def test_what_is_there_and_right_is_not_fetched_again(fake: FakeHub, tmp_path: Path) -> None:
    bring(fake, tmp_path)
    fake.requests.clear()
    brought = bring(fake, tmp_path)
    assert not any(file.fetched for file in brought.values())
    assert fake.file_requests() == []


def test_files_of_somebody_elses_download_are_taken_over(fake: FakeHub, tmp_path: Path) -> None:
    for path, content in fake.repos[MODEL].items():
        target = tmp_path / "model" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    bring(fake, tmp_path)
    assert fake.file_requests() == []
    assert (tmp_path / "model/.cache/huggingface/download/assets/logo.png.metadata").exists()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: content[:-1] + bytes([content[-1] ^ 1]), id="a-bit"),
        pytest.param(lambda content: content[:10], id="cut-off"),
        pytest.param(lambda content: content + b"x", id="longer"),
        pytest.param(lambda content: b"version https://git-lfs.github.com/spec/v1\n", id="pointer"),
        pytest.param(lambda content: bytes(len(content)), id="zeros"),
    ],
)
def test_a_damaged_shard_is_repaired(fake: FakeHub, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    bring(fake, tmp_path)
    shard = tmp_path / "model" / SHARD
    shard.write_bytes(damage(shard.read_bytes()))
    fake.requests.clear()
    brought = bring(fake, tmp_path)
    assert {path for path, file in brought.items() if file.fetched} == {SHARD}
    assert brought[SHARD].replaced
    assert brought[SHARD].older is None
    assert_right(fake, tmp_path)


def test_a_file_that_somebody_edited_is_kept_aside(fake: FakeHub, tmp_path: Path) -> None:
    bring(fake, tmp_path)
    (tmp_path / "model/config.json").write_text("edited")
    older = bring(fake, tmp_path)["config.json"].older
    assert older is not None
    assert older.read_text() == "edited"
    assert_right(fake, tmp_path)


@pytest.mark.parametrize(("cut", "start"), [(2 * MIB, 2 * MIB), (2 * MIB + 99, 2 * MIB)], ids=["blocks", "ragged"])
def test_an_interrupted_fetch_goes_on(fake: FakeHub, tmp_path: Path, cut: int, start: int) -> None:
    fake.repos[MODEL][SHARD] = content = noise(4 * MIB)
    broken = Fault(status=500)
    fake.fault = lambda request: _after(request, cut, broken)
    with pytest.raises(NetworkError):
        bring(fake, tmp_path)
    fake.fault = lambda _request: None
    fake.requests.clear()
    bring(fake, tmp_path)
    assert [asked.start for asked in fake.file_requests(SHARD)] == [start]
    assert (tmp_path / "model" / SHARD).read_bytes() == content


def _after(request: Request, cut: int, then: Fault) -> Fault | None:
    """The shard breaks off at `cut`, and nothing comes of it afterwards."""
    if not request.path.endswith(SHARD):
        return None
    return then if request.start else Fault(cut_after=cut)


def test_an_unfinished_file_that_went_bad_on_the_disk_is_begun_anew(fake: FakeHub, tmp_path: Path) -> None:
    fake.repos[MODEL][SHARD] = noise(3 * MIB)
    place = next(f.place for f in planned(fake, tmp_path).artefacts[0].files if f.place.file.path == SHARD)
    place.prepare()
    place.part.write_bytes(bytes(MIB))
    bring(fake, tmp_path)
    assert [asked.start for asked in fake.file_requests(SHARD)] == [MIB, 0]
    assert_right(fake, tmp_path)


@pytest.mark.parametrize("begun", [False, True], ids=["at-once", "after-a-resume"])
def test_what_came_damaged_is_refused_and_not_kept(fake: FakeHub, tmp_path: Path, begun: bool) -> None:
    fake.repos[MODEL][SHARD] = noise(2 * MIB)
    fake.fault = lambda request: Fault(change=lambda c: b"x" + c[1:]) if request.path.endswith(SHARD) else None
    if begun:
        place = next(f.place for f in planned(fake, tmp_path).artefacts[0].files if f.place.file.path == SHARD)
        place.prepare()
        place.part.write_bytes(bytes(MIB))
    with pytest.raises(ArtefactDamagedError, match=f"{SHARD} of owner/model came damaged") as caught:
        bring(fake, tmp_path)
    assert caught.value.code is Exit.ARTEFACT_DAMAGED
    assert not (tmp_path / "model" / SHARD).exists()
    assert not list(tmp_path.rglob(f"{SHARD}*.incomplete"))


def test_it_must_fit_before_anything_is_written(fake: FakeHub, tmp_path: Path) -> None:
    plan = replace(planned(fake, tmp_path / "new"), free_bytes=100)
    with pytest.raises(MoetBootError, match=r"100 B free, .* are to come and 1.00 GiB should stay free") as caught:
        Carrier(Hub(fake.url)).bring(plan)
    assert caught.value.code is Exit.FAILURE
    assert not (tmp_path / "new").exists()


def test_the_first_failure_stops_the_rest(fake: FakeHub, tmp_path: Path) -> None:
    release = threading.Event()
    fake.repos[MODEL][SHARD] = noise(2 * MIB)
    fake.fault = lambda request: (
        Fault(status=404, code="EntryNotFound")
        if request.path.endswith("config.json")
        else Fault(cut_after=MIB, hold=release)
        if request.path.endswith(SHARD)
        else None
    )
    stop = threading.Event()
    ended = threading.Timer(0.3, release.set)
    ended.start()
    with pytest.raises(ArtefactMissingError, match=r"config\.json"):
        bring(fake, tmp_path, stop=stop)
    ended.join()
    assert stop.is_set()
    assert not (tmp_path / "model" / SHARD).exists()


def test_progress_ends_at_what_was_expected(fake: FakeHub, tmp_path: Path) -> None:
    bring(fake, tmp_path)
    shard = tmp_path / "model" / SHARD
    shard.write_bytes(bytes(shard.stat().st_size))
    (tmp_path / "model/assets/logo.png").unlink()
    fetched: list[tuple[int, int]] = []
    compared: list[tuple[int, int]] = []
    bring(fake, tmp_path, on_fetch=lambda *seen: fetched.append(seen), on_compare=lambda *seen: compared.append(seen))
    total = sum(map(len, fake.repos[MODEL].values()))
    size = len(fake.repos[MODEL][SHARD])
    assert fetched[-1] == (size + 3, size + 3)
    assert compared[-1] == (total + size, total + size)
