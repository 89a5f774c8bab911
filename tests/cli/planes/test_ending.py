import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import pytest

from moet_boot.cli.main import run
from moet_boot.cli.planes.ending import ended_in_order
from moet_boot.exits import Exit
from moet_boot.planes import convert
from moet_boot.planes.slot_source import Sections
from testing.golden import GOLDEN
from testing.plane_file import OWN

NUMBERS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def _default_handlers() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_DFL) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_unwinds_the_block_and_the_next_one_kills(number: signal.Signals) -> None:
    unwound: list[object] = []
    stack = ExitStack()
    stack.callback(lambda: unwound.append(signal.getsignal(number)))
    with pytest.raises(SystemExit) as end, ended_in_order(), stack:
        signal.raise_signal(number)
    assert end.value.code == Exit.TERMINATED
    assert unwound == [signal.SIG_DFL]


@pytest.mark.parametrize("number", NUMBERS)
def test_afterwards_a_signal_does_what_it_did_before(number: signal.Signals) -> None:
    with ended_in_order():
        assert signal.getsignal(number) is not signal.SIG_DFL
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ended_in_order():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_handler_of_somebody_else_stays() -> None:
    seen: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        del frame
        seen.append(number)

    signal.signal(signal.SIGTERM, handler)
    with ended_in_order():
        signal.raise_signal(signal.SIGTERM)
    assert seen == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_another_thread_may_use_it_too() -> None:
    def in_thread() -> object:
        with ended_in_order():
            return signal.getsignal(signal.SIGTERM)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(in_thread).result() is signal.SIG_DFL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("to", ["moet2pf", "pack-v2", "cache-v2"])
def test_a_conversion_that_is_ended_leaves_nothing(
    number: signal.Signals, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(sections: Sections, path: Path, layer: int, expert: int) -> None:
        del sections, path
        if (layer, expert) == (1, 2):
            signal.raise_signal(number)

    monkeypatch.setattr(convert, "require_written", end)
    argv = ["planes", "convert", str(OWN), "--to", to, "--out", str(tmp_path / "out")]
    code = Exit.DONE
    try:
        code = Exit(run(argv if to == "moet2pf" else [*argv, "--ckpt-id", "x"]))
    except SystemExit as end_of_process:
        code = Exit(int(str(end_of_process.code)))
    assert code == (Exit.TERMINATED if number == signal.SIGTERM else Exit.INTERRUPTED)
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_is_ended_says_that_it_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "moet_boot.planes.checkpoint.Checkpoint.require_unchanged", lambda _: signal.raise_signal(signal.SIGTERM)
    )
    where = ["--checkpoint", str(GOLDEN / "iv_ckpt"), "--out", str(tmp_path / "planes")]
    assert run(["planes", "build", *where, "--repo", "a/b", "--revision", "0" * 40]) == Exit.TERMINATED
    assert capsys.readouterr().err == "interrupted: the same command goes on from here\n"
    assert [path.name for path in tmp_path.iterdir()] == [".planes.partial"]
