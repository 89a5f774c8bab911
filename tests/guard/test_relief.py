"""Relief and the thread that it runs in."""

import os
import threading
from pathlib import Path

import pytest

from moet_boot.guard.aside import Aside
from moet_boot.guard.relief import Relief
from tests.guard.unruly import until


@pytest.fixture
def knobs(tmp_path: Path) -> Path:
    for name in ("drop_caches", "compact_memory"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture(scope="module")
def aside() -> Aside:
    return Aside("test")


def finished(relief: Relief) -> tuple[float, str]:
    results = []

    def done() -> bool:
        result = relief.finished()
        if result:
            results.append(result)
        return bool(results)

    assert until(done)
    return results[0].seconds, results[0].refused


def test_both_knobs_are_turned(knobs: Path, aside: Aside) -> None:
    relief = Relief(aside, knobs)
    assert relief.possible
    assert relief.start()
    seconds, refused = finished(relief)
    assert (knobs / "drop_caches").read_bytes() == b"3\n"
    assert (knobs / "compact_memory").read_bytes() == b"1\n"
    assert seconds >= 0
    assert refused == ""
    assert relief.finished() is None, "told once"
    relief.close()
    assert not relief.possible


def test_a_slow_kernel_holds_nobody_up(knobs: Path) -> None:
    go = threading.Event()

    def slow(fd: int, value: bytes) -> int:
        go.wait(30)
        return os.write(fd, value)

    relief = Relief(Aside("slow"), knobs, write=slow)
    assert relief.start()
    assert not relief.start(), "one at a time, and none is queued"
    assert relief.finished() is None
    go.set()
    assert finished(relief)[1] == ""
    assert until(relief.start)


def test_a_refusal_is_told(knobs: Path, aside: Aside) -> None:
    def refuses(fd: int, value: bytes) -> int:
        raise OSError(1, "Operation not permitted")

    relief = Relief(aside, knobs, write=refuses)
    assert relief.start()
    assert finished(relief)[1] == "drop_caches: Operation not permitted"


def test_without_the_right_it_is_impossible(tmp_path: Path, aside: Aside) -> None:
    relief = Relief(aside, tmp_path)
    assert not relief.possible
    assert not relief.start()
    assert "No such file" in relief.impossible


def test_a_kernel_without_compaction_still_relieves(knobs: Path, aside: Aside) -> None:
    (knobs / "compact_memory").unlink()
    relief = Relief(aside, knobs)
    assert relief.start()
    assert finished(relief)[1] == ""
    assert (knobs / "drop_caches").read_bytes() == b"3\n"


def test_work_is_done_beside_and_in_order() -> None:
    aside, done = Aside("order"), []
    for i in range(5):
        assert until(lambda: not aside.busy)
        assert aside.ask(lambda i=i: done.append((i, threading.current_thread().name)))  # type: ignore[misc]
    assert until(lambda: len(done) == 5)
    assert done == [(i, "order") for i in range(5)]


def test_the_thread_has_a_small_stack_and_leaves_the_size_of_others_alone() -> None:
    before = threading.stack_size()
    Aside("small")
    assert threading.stack_size() == before
