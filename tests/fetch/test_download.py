import errno
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.fetch.download import WAITS_S, Download, kept_bytes
from moet_boot.fetch.hub import Answer, Hub
from moet_boot.fetch.hub_file import HubFile
from moet_boot.fetch.meter import StoppedError
from moet_boot.fetch.trouble import NetworkError
from tests.fetch.fake_hub import COMMIT, FakeHub, Fault, Request
from tests.fetch.scene import MIB, MODEL, noise

CONTENT = noise(3 * MIB + 1234)
FILE = HubFile("big.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


@dataclass
class Bench:
    """A download with its pauses and bytes counted; `stop_at` bytes it is stopped."""

    fake: FakeHub
    part: Path
    range_bytes: int = MIB
    stop_at: int | None = None
    pauses: list[float] = field(default_factory=list)
    ticked: int = 0

    def tick(self, count: int) -> None:
        self.ticked += count
        if self.stop_at is not None and self.ticked >= self.stop_at:
            raise StoppedError

    def bring(self) -> bool:
        hub = Hub(self.fake.url)
        download = Download(hub, MODEL, COMMIT, self.tick, self.pauses.append, range_bytes=self.range_bytes)
        return download.bring(FILE, self.part)

    @property
    def starts(self) -> list[int | None]:
        return [asked.start for asked in self.fake.file_requests()]


@pytest.fixture
def bench(fake: FakeHub, tmp_path: Path) -> Bench:
    fake.repos[MODEL]["big.bin"] = CONTENT
    return Bench(fake, tmp_path / "big.part")


class _Canned:
    """A source in memory whose answers break off after so many bytes, one after the other."""

    def __init__(self, content: bytes, cuts: list[int]) -> None:
        self.content, self.cuts = content, list(cuts)

    @contextmanager
    def stream(self, repo: str, commit: str, path: str, start: int, stop: int) -> Iterator[Answer]:
        del repo, commit, path
        yield Answer(start, len(self.content), self._pieces(start, stop))

    def _pieces(self, start: int, stop: int) -> Iterator[bytes]:
        cut = self.cuts.pop(0) if self.cuts else None
        for at in range(start, stop, 65_536):
            if cut is not None and at - start >= cut:
                raise NetworkError("cut")
            yield self.content[at : min(at + 65_536, stop)]


def nth(number: int, fault: Fault) -> Callable[[Request], Fault | None]:
    """A fault of the request of this number, 1 for the first."""
    seen: list[Request] = []

    def happens(request: Request) -> Fault | None:
        seen.append(request)
        return fault if len(seen) == number else None

    return happens


def test_a_file_comes_in_ranges(bench: Bench) -> None:
    assert bench.bring() is False
    assert bench.part.read_bytes() == CONTENT
    assert bench.starts == [0, MIB, 2 * MIB, 3 * MIB]
    assert bench.ticked == len(CONTENT)
    assert bench.pauses == []


def test_an_empty_file_needs_no_request(bench: Bench) -> None:
    download = Download(Hub(bench.fake.url), MODEL, COMMIT, bench.tick, bench.pauses.append)
    download.bring(HubFile("nothing", 0, "0" * 40), bench.part)
    assert bench.part.read_bytes() == b""
    assert bench.starts == []


@pytest.mark.parametrize(
    "kept", [4096, MIB, 2 * MIB, len(CONTENT) // 4096 * 4096], ids=["block", "1", "2", "nearly-all"]
)
def test_what_came_earlier_is_not_asked_for_again(bench: Bench, kept: int) -> None:
    bench.part.write_bytes(CONTENT[:kept])
    assert bench.bring() is True
    assert bench.part.read_bytes() == CONTENT
    assert bench.starts[0] == kept
    assert bench.ticked == len(CONTENT) - kept


def test_a_ragged_end_is_fetched_again(bench: Bench) -> None:
    bench.part.write_bytes(CONTENT[: MIB + 17])
    bench.bring()
    assert bench.starts[0] == MIB
    assert bench.part.read_bytes() == CONTENT


def test_more_than_the_file_can_be_is_worth_nothing(bench: Bench) -> None:
    bench.part.write_bytes(CONTENT + b"x")
    assert bench.bring() is False
    assert bench.part.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(cut_after=100_000), id="cut-in-the-middle"),
        pytest.param(Fault(cut_after=0), id="cut-at-once"),
        pytest.param(Fault(status=503), id="unavailable"),
        pytest.param(Fault(status=429), id="too-many-requests"),
    ],
)
def test_trouble_that_passes_is_waited_out(bench: Bench, fault: Fault) -> None:
    bench.fake.fault = nth(2, fault)
    bench.bring()
    assert bench.part.read_bytes() == CONTENT
    assert bench.pauses == [WAITS_S[0]]
    assert bench.ticked == len(CONTENT)
    assert bench.starts[2] == MIB + (fault.cut_after or 0)


def test_a_line_that_breaks_for_ever_but_brings_something_gets_there(bench: Bench) -> None:
    bench.fake.fault = lambda _request: Fault(cut_after=300_000)
    bench.bring()
    assert bench.part.read_bytes() == CONTENT
    assert set(bench.pauses) == {WAITS_S[0]}


def test_after_enough_tries_without_a_byte_it_gives_up_and_keeps_what_came(bench: Bench) -> None:
    bench.fake.fault = lambda request: Fault(status=500) if (request.start or 0) >= 2 * MIB else None
    with pytest.raises(NetworkError, match="HTTP 500") as caught:
        bench.bring()
    assert "it goes on from where it was" in caught.value.fix
    assert bench.pauses == list(WAITS_S)
    assert kept_bytes(bench.part, FILE) == 2 * MIB


def test_a_file_that_is_gone_is_not_asked_for_again(bench: Bench) -> None:
    del bench.fake.repos[MODEL]["big.bin"]
    with pytest.raises(ArtefactMissingError):
        bench.bring()
    assert bench.pauses == []
    assert not bench.part.exists()


def test_a_hub_that_ignores_ranges_sends_it_all(bench: Bench) -> None:
    bench.part.write_bytes(b"x" * MIB)
    bench.fake.ranges = False
    bench.bring()
    assert bench.part.read_bytes() == CONTENT
    assert bench.ticked == len(CONTENT) - MIB


@pytest.mark.parametrize("ranges", [True, False], ids=["a-part", "the-whole"])
@pytest.mark.parametrize("other", [CONTENT + b"more", CONTENT[:-1]], ids=["longer", "shorter"])
def test_another_size_than_listed_is_damage(bench: Bench, other: bytes, ranges: bool) -> None:
    bench.fake.ranges = ranges
    bench.fake.fault = lambda _request: Fault(change=lambda _: other)
    with pytest.raises(ArtefactDamagedError, match=rf"lists {len(CONTENT)} bytes and sends one of {len(other)}"):
        bench.bring()


def test_a_range_that_was_not_asked_for_is_damage(bench: Bench) -> None:
    bench.fake.fault = nth(2, Fault(headers={"Content-Range": f"bytes 5-9/{len(CONTENT)}"}))
    with pytest.raises(ArtefactDamagedError, match="from 5 on"):
        bench.bring()


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(min_value=1, max_value=2 * MIB), max_size=6))
def test_however_it_is_interrupted_the_file_comes_whole(cuts: list[int]) -> None:
    source = _Canned(CONTENT, cuts)
    part = Path(os.environ["MOET_BOOT_STATE_DIR"]).parent / "part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.unlink(missing_ok=True)
    for _ in range(len(cuts) + 1):
        try:
            Download(source, MODEL, COMMIT, lambda _: None, lambda _: None, MIB, ()).bring(FILE, part)  # type: ignore[arg-type]
            break
        except NetworkError:
            assert not part.exists() or part.read_bytes() == CONTENT[: part.stat().st_size]
    assert part.read_bytes() == CONTENT


def test_a_stop_keeps_what_came(bench: Bench) -> None:
    bench.stop_at = 2 * MIB
    with pytest.raises(StoppedError):
        bench.bring()
    kept = kept_bytes(bench.part, FILE)
    assert kept >= MIB
    bench.stop_at = None
    assert bench.bring() is True
    assert bench.part.read_bytes() == CONTENT


def test_a_stop_during_a_pause_is_heeded(bench: Bench) -> None:
    bench.fake.fault = lambda _request: Fault(status=500)
    bench.stop_at = 0
    with pytest.raises(StoppedError):
        bench.bring()
    assert len(bench.pauses) == 1


def test_a_disk_that_cannot_be_written(bench: Bench) -> None:
    bench.part.mkdir()
    with pytest.raises(MoetBootError, match="cannot be written"):
        bench.bring()


def test_a_full_disk_keeps_what_came_and_goes_on_later(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def pwrite(fd: int, data: bytes, offset: int) -> int:
        if offset >= 2 * MIB:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(fd, data, offset)

    original = os.pwrite
    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(MoetBootError, match="no space left") as caught:
        bench.bring()
    assert "it goes on from here" in caught.value.fix
    monkeypatch.undo()
    assert kept_bytes(bench.part, FILE) == 2 * MIB
    assert bench.bring() is True
    assert bench.part.read_bytes() == CONTENT
