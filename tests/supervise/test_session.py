import errno
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from moet_boot.engine.failure import Failure
from moet_boot.engine.failure_table import FailureClass
from moet_boot.exits import Exit
from moet_boot.profile.model import Restart
from moet_boot.supervise.attempt_end import AttemptEnd, Cause
from moet_boot.supervise.breaker import Breaker, PastFailure
from moet_boot.supervise.session import Session
from moet_boot.units import GIB
from tests.supervise.fakes import World

POLICY = Restart(why="w", source="s", budget=2, window_s=3600, backoff_s=10, backoff_max_s=60)
ASKED = AttemptEnd(Cause.ASKED, was_ready=True)


def failed(kind: str = "engine_crash", *, ready: bool = True, cause: Cause = Cause.EXITED) -> AttemptEnd:
    return AttemptEnd(cause, was_ready=ready, failure=Failure(FailureClass(kind), "it broke", "mend it"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class Run:
    def __init__(self, world: World, ends: list[AttemptEnd], refusal: str | None = None) -> None:
        self.world = world
        self.ends = deque(ends)
        self.preflights = 0
        self.refusal = refusal
        world.journal.begin_attempt()

    def session(self, preflight: Callable[[], str | None] | None = None) -> Session:
        world = self.world
        return Session(
            attempt=self.ends.popleft,
            preflight=preflight or self._preflight,
            policy=POLICY,
            breaker=Breaker(world.folder / "state", "a" * 64),
            journal=world.journal,
            memory=world.memory,
            clock=world.clock,
            listener=world.notes,
            signals=world.signals,
            needed_bytes=10 * GIB,
            settle_s=60,
            wall=world.clock.now,
        )

    def _preflight(self) -> str | None:
        self.preflights += 1
        return self.refusal


def test_a_wanted_end_is_zero_and_closes_the_receipt(world: World) -> None:
    ending = Run(world, [ASKED]).session().run()

    assert (ending.outcome, ending.exit_code) == ("stopped", Exit.DONE)
    receipt = world.on_disk()
    assert (receipt.outcome, receipt.exit_code, receipt.restarts) == ("stopped", 0, 0)
    assert receipt.ended_at


@pytest.mark.parametrize(
    ("number", "ready", "code", "outcome"),
    [
        pytest.param(15, True, 143, "stopped", id="TERM after readiness"),
        pytest.param(1, True, 143, "stopped", id="HUP after readiness"),
        pytest.param(2, True, 130, "stopped", id="INT after readiness"),
        pytest.param(15, False, 143, "interrupted", id="TERM in boot"),
        pytest.param(2, False, 130, "interrupted", id="INT in boot"),
    ],
)
def test_a_signal_has_its_exit_code(world: World, number: int, ready: bool, code: int, outcome: str) -> None:
    ending = Run(world, [AttemptEnd(Cause.SIGNAL, ready, signal=number)]).session().run()

    assert (int(ending.exit_code), ending.outcome) == (code, outcome)


@pytest.mark.parametrize("kind", ["usage", "artefact", "memory"])
def test_failures_that_stay_are_never_restarted_before_readiness(world: World, kind: str) -> None:
    run = Run(world, [failed(kind, ready=False), ASKED])

    ending = run.session().run()

    assert ending.exit_code is Exit.NOT_READY
    assert "does not pass by itself" in ending.reason
    assert run.preflights == 0


def test_a_crash_is_restarted_after_memory_came_back_and_a_new_preflight(world: World) -> None:
    run = Run(world, [failed(), ASKED])
    before = world.clock.now()
    slowly = [gib * GIB for gib in (2, 4, 9, 30, 60, 60, 60, 60)]
    world.clock.at(POLICY.backoff_s, lambda: world.memory.script.extend(slowly))

    ending = run.session().run()

    assert world.clock.now() - before >= POLICY.backoff_s + len(slowly) - 1

    assert ending.exit_code is Exit.DONE
    assert run.preflights == 1
    assert world.on_disk().restarts == 1
    assert not world.memory.script  # it looked until the memory stopped rising


def test_whoever_listens_has_a_sign_of_life_while_it_waits(world: World) -> None:
    world.memory.available = 3 * GIB
    Run(world, [failed(), ASKED]).session().run()
    assert len(world.notes.ticks) >= 2 * POLICY.backoff_s + 60, "in the backoff, and while memory settles"


def test_the_budget_ends_the_restarts(world: World) -> None:
    run = Run(world, [failed(), failed(), failed(), ASKED])

    ending = run.session().run()

    assert ending.exit_code is Exit.SERVER_DIED
    assert run.preflights == 2
    assert "the budget is 2 restarts" in ending.reason


def test_the_breaker_survives_a_restart_of_moet_boot(world: World) -> None:
    Breaker(world.folder / "state", "a" * 64).remember(PastFailure(world.clock.now(), "unknown", "x"), window_s=3600)
    Breaker(world.folder / "state", "a" * 64).remember(PastFailure(world.clock.now(), "unknown", "y"), window_s=3600)
    run = Run(world, [failed("unknown", ready=False), ASKED])

    ending = run.session().run()

    assert ending.exit_code is Exit.NOT_READY
    assert run.preflights == 0


def test_a_wanted_stop_after_readiness_closes_the_breaker(world: World) -> None:
    breaker = Breaker(world.folder / "state", "a" * 64)
    breaker.remember(PastFailure(world.clock.now(), "unknown", "x"), window_s=3600)

    Run(world, [ASKED]).session().run()

    assert breaker.failures() == []


def test_memory_that_does_not_come_back_ends_it(world: World) -> None:
    world.memory.available = 3 * GIB

    ending = Run(world, [failed(), ASKED]).session().run()

    assert ending.exit_code is Exit.SERVER_DIED
    assert "memory did not come back: 3.00 GiB available" in ending.reason


def test_a_preflight_that_refuses_the_restart_ends_it(world: World) -> None:
    ending = Run(world, [failed(), ASKED], refusal="MEM.HELD: 83 GiB").session().run()

    assert ending.exit_code is Exit.SERVER_DIED
    assert "MEM.HELD: 83 GiB" in ending.reason


def test_the_guard_has_an_exit_code_of_its_own(world: World) -> None:
    ending = Run(world, [failed("memory", ready=False, cause=Cause.GUARD)]).session().run()

    assert (ending.outcome, ending.exit_code) == ("guard", Exit.GUARD_STOPPED)


def test_a_lost_guard_is_never_answered_with_a_restart(world: World) -> None:
    ending = Run(world, [failed("unknown", cause=Cause.GUARD_LOST), ASKED]).session().run()

    assert ending.exit_code is Exit.SERVER_DIED


@pytest.mark.parametrize("at_s", [3.0, 12.0], ids=["in the backoff", "while memory settles"])
def test_a_signal_between_two_attempts_ends_it(world: World, at_s: float) -> None:
    world.memory.available = 3 * GIB
    world.clock.at(at_s, lambda: world.signals.put(15))

    ending = Run(world, [failed(), ASKED]).session().run()

    assert ending.exit_code is Exit.TERMINATED
    assert world.clock.now() < 100 + at_s + 2


def test_a_signal_while_the_preflight_runs_starts_nothing_more(world: World) -> None:
    run = Run(world, [failed(), ASKED])

    def preflight() -> None:
        world.signals.put(2)

    assert run.session(preflight).run().exit_code is Exit.INTERRUPTED
    assert list(run.ends) == [ASKED]


def test_a_full_disk_gives_no_more_restarts_than_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_args: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    breaker = Breaker(tmp_path, "b" * 64)
    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", no_space)
        assert [len(breaker.remember(PastFailure(at, "hang", "z"), window_s=60)) for at in (1.0, 2.0, 3.0)] == [1, 2, 3]
    assert list(tmp_path.iterdir()) == []
    assert len(breaker.remember(PastFailure(4.0, "hang", "z"), window_s=60)) == 4
    assert [f.at for f in breaker.failures()] == [1.0, 2.0, 3.0, 4.0]
    assert len(breaker.remember(PastFailure(5.0, "hang", "z"), window_s=60)) == 5


def test_failures_that_nobody_could_remember_count_too(tmp_path: Path) -> None:
    breaker = Breaker(tmp_path, "c" * 64)
    for at in (9_990.0, 9_995.0):
        breaker.remember(PastFailure(at, "hang", "z"), window_s=1e9)
    killed = [PastFailure(at, "killed", "k") for at in (9_992.0, 1.0)]
    assert [f.at for f in breaker.open_since(10_000.0, POLICY, killed)] == [9_990.0, 9_992.0, 9_995.0]
    assert breaker.open_since(10_000.0, POLICY) == []


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"at": "x"}]', "null"])
def test_a_damaged_breaker_file_counts_as_no_failures(tmp_path: Path, content: str) -> None:
    breaker = Breaker(tmp_path, "b" * 64)
    (tmp_path / f"breaker-{'b' * 16}.json").write_text(content)

    assert breaker.failures() == []
    assert len(breaker.remember(PastFailure(5.0, "hang", "z"), window_s=60)) == 1


@pytest.mark.parametrize(
    ("ages_s", "is_open"),
    [([5, 4, 3], True), ([5, 4], False), ([4000, 4, 3], False), ([], False), ([-9, -8, -7], False)],
    ids=["beyond the budget", "within the budget", "an old one", "none", "a clock that went back"],
)
def test_the_breaker_is_open_beyond_the_budget_of_its_window(
    tmp_path: Path, ages_s: list[float], is_open: bool
) -> None:
    breaker = Breaker(tmp_path, "c" * 64)
    for age_s in ages_s:
        breaker.remember(PastFailure(10_000.0 - age_s, "hang", "z"), window_s=1e9)
    assert bool(breaker.open_since(10_000.0, POLICY)) is is_open
