"""The guard's loop, one step at a time, with eyes, hands and pens of the test's own making."""

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from moet_boot.guard.floors import Floors
from moet_boot.guard.kill import Strike
from moet_boot.guard.messages import GuardEvent
from moet_boot.guard.relief import Relieved
from moet_boot.guard.sample import Action, Sample
from moet_boot.guard.sampler import FASTEST_S, REST_S
from moet_boot.guard.watch import MEMBERS_S, REPEAT_S, STUCK_S, Watch
from moet_boot.phases import Phase
from tests.guard.scenes import SPARK, line, look


class ScriptedEyes:
    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = iter(samples)

    def read(self) -> Sample:
        return next(self._samples)


@dataclass
class FakeServer:
    """Needs so many strikes until it is dead; `polite` ends when it is asked to."""

    strikes_needed: int = 1
    polite: bool = False
    calls: list[str] = field(default_factory=list)

    def strike(self) -> Strike:
        self.calls.append("strike")
        self.strikes_needed -= 1
        return Strike(1, (4711,) if self.strikes_needed > 0 else ())

    def terminate(self) -> int:
        self.calls.append("terminate")
        return 3

    def watch(self) -> None:
        self.calls.append("watch")

    @property
    def ended(self) -> bool:
        return self.polite and "terminate" in self.calls


@dataclass
class FakeCleaner:
    willing: bool = True
    started: int = 0
    done: Relieved | None = None

    def start(self) -> bool:
        self.started += self.willing
        return self.willing

    def finished(self) -> Relieved | None:
        done, self.done = self.done, None
        return done


@dataclass
class Ledger:
    records: list[tuple[Sample, Phase | None, Action]] = field(default_factory=list)

    def append(self, sample: Sample, phase: Phase | None = None, action: Action = Action.NOTHING) -> None:
        self.records.append((sample, phase, action))


@dataclass
class Scene:
    watch: Watch
    server: FakeServer
    cleaner: FakeCleaner
    ledger: Ledger
    events: list[GuardEvent]

    def actions(self) -> list[str]:
        return [event.action for event in self.events]


def scene(
    samples: Iterable[Sample],
    *,
    server: FakeServer | None = None,
    cleaner: FakeCleaner | None = None,
    phase: Phase = Phase.LOADING_WEIGHTS,
    observe_only: bool = False,
    floors: Floors = SPARK,
) -> Scene:
    events: list[GuardEvent] = []
    ledger, cleaner, server = Ledger(), cleaner or FakeCleaner(), server or FakeServer()
    watch = Watch(floors, ScriptedEyes(samples), cleaner, ledger, events.append, observe_only, server, phase)
    return Scene(watch, server, cleaner, ledger, events)


def steps(it: Scene, count: int) -> list[float]:
    return [it.watch.step() for _ in range(count)]


def level(gib: float, count: int, every_s: float = 0.25) -> Iterator[Sample]:
    return (look(i * every_s, gib) for i in range(count))


def test_at_rest_it_looks_records_and_leaves_everything_alone() -> None:
    it = scene(level(60, 20))
    assert steps(it, 20) == [REST_S] * 20
    assert set(it.server.calls) == {"watch"}
    assert len(it.ledger.records) == 20
    assert it.events == []


def test_the_nearer_the_floor_the_faster_it_looks() -> None:
    curve = line([(0, 60), (10, 8.01)])
    waits = steps(scene(look(i, curve(i)) for i in range(9)), 9)
    assert waits == sorted(waits, reverse=True)
    assert scene([look(0, 8.05)]).watch.step() == FASTEST_S


def test_the_hard_floor_is_one_sample_and_the_signal_comes_before_the_note() -> None:
    it = scene([look(0, 60), look(9, 7.9)])
    order: list[str] = []
    it.watch.note = lambda event: order.extend([*it.server.calls, event.action])
    steps(it, 2)
    assert order[-2:] == ["strike", "kill"]


def test_it_strikes_until_nobody_is_left_and_says_what_came_of_it() -> None:
    it = scene([look(0, 7.5), look(0.002, 7.2), look(0.004, 30)], server=FakeServer(strikes_needed=3))
    waits = steps(it, 3)
    assert it.server.calls == ["strike"] * 3
    assert it.actions() == ["kill", "killed"]
    assert "gone after 0.004 s" in it.events[1].reason
    assert "7.20 GiB at the lowest" in it.events[1].reason
    assert waits[0] == FASTEST_S
    assert it.watch.target is None


@pytest.mark.parametrize(
    ("residual", "told"), [(None, False), (-5, False), (83 << 30, True)], ids=["unknown", "none", "held"]
)
def test_memory_that_a_dead_server_still_holds_is_told(residual: int | None, told: bool) -> None:
    it = scene([look(0, 7.5), replace(look(0.1, 20), residual=residual)])
    steps(it, 2)
    assert it.actions() == ["kill", "killed"]
    assert ("83.00 GiB are in nobody's name" in it.events[1].reason) is told


def test_a_dying_server_gets_the_processor_to_itself() -> None:
    it = scene((look(i * 0.05, 7) for i in range(40)), server=FakeServer(strikes_needed=99))
    waits = steps(it, 40)
    assert waits[0] == FASTEST_S
    assert waits[-1] == 0.05
    assert waits == sorted(waits)


def test_a_process_that_does_not_die_is_reported_again_and_again() -> None:
    it = scene((look(i * 0.5, 7) for i in range(30)), server=FakeServer(strikes_needed=99))
    steps(it, 30)
    assert it.actions() == ["kill", "stuck", "stuck"]
    assert "[4711]" in it.events[1].reason
    assert it.events[2].at_s - it.events[1].at_s >= STUCK_S


def test_without_a_target_nothing_is_done() -> None:
    it = scene(level(5, 10))
    it.watch.target = None
    assert steps(it, 10) == [REST_S] * 10
    assert it.events == []
    assert len(it.ledger.records) == 10


def test_observing_only_says_what_it_would_do_now_and_then() -> None:
    it = scene(level(7, 100), observe_only=True)
    steps(it, 100)
    assert set(it.server.calls) <= {"watch"}
    assert set(it.actions()) == {"would kill"}
    assert len(it.events) == 1 + int(99 * 0.25 / REPEAT_S)


class TestRelief:
    def test_is_started_and_its_result_told(self) -> None:
        cleaner = FakeCleaner()
        it = scene((look(i / 4, 60, free=3) for i in range(9)), cleaner=cleaner)
        steps(it, 4)
        cleaner.done = Relieved(0.31, "compact_memory: Invalid argument")
        steps(it, 5)
        assert cleaner.started == 3
        assert it.actions() == ["relieve", "relieved"], "said now and then, done every second"
        told = next(event for event in it.events if event.action == "relieved")
        assert told.reason == "cache dropped in 0.31 s; refused: compact_memory: Invalid argument"

    def test_that_is_not_possible_is_said_now_and_then(self) -> None:
        it = scene((look(i / 4, 60, free=3) for i in range(100)), cleaner=FakeCleaner(willing=False))
        steps(it, 100)
        assert set(it.actions()) == {"would relieve"}
        assert len(it.events) <= 3

    def test_observing_only(self) -> None:
        it = scene((look(i / 4, 60, free=3) for i in range(9)), observe_only=True)
        steps(it, 9)
        assert it.cleaner.started == 0
        assert it.actions() == ["would relieve"]


class TestStop:
    def test_asks_first(self) -> None:
        it = scene(level(3.5, 14), server=FakeServer(polite=True), phase=Phase.SERVING)
        steps(it, 14)
        assert it.actions() == ["stop", "stopped"]
        assert "3 process(es) asked to end" in it.events[0].reason
        assert "strike" not in it.server.calls
        assert it.watch.target is None

    def test_and_kills_who_does_not_listen(self) -> None:
        it = scene(level(3.5, 40), phase=Phase.SERVING)
        steps(it, 40)
        assert it.actions() == ["stop", "kill", "killed"]


class TestMembers:
    def test_are_looked_up_once_a_second(self) -> None:
        it = scene(level(60, 100, every_s=0.05))
        steps(it, 100)
        assert it.server.calls.count("watch") == pytest.approx(5 / MEMBERS_S, abs=1)

    def test_also_where_memory_stays_low(self) -> None:
        it = scene(level(8.4, 100, every_s=0.05))
        steps(it, 100)
        assert "watch" in it.server.calls


class TestRecording:
    def test_a_flat_boot_is_thinned_and_a_fall_is_not(self) -> None:
        it = scene(level(60, 100, every_s=0.01))
        steps(it, 100)
        assert len(it.ledger.records) == pytest.approx(20, abs=4)
        it = scene(look(i * 0.01, 60 - i * 0.1) for i in range(100))
        steps(it, 100)
        assert len(it.ledger.records) == 100

    def test_serving_is_thinned_to_a_sample_a_second(self) -> None:
        it = scene(level(20, 41), phase=Phase.SERVING)
        steps(it, 41)
        assert [sample.t_s for sample, _, _ in it.ledger.records] == [float(i) for i in range(11)]

    def test_actions_and_phases_are_recorded(self) -> None:
        it = scene([look(0, 60), look(9, 7)], phase=Phase.KV_CACHE)
        steps(it, 2)
        assert [(phase, action) for _, phase, action in it.ledger.records] == [
            (Phase.KV_CACHE, Action.NOTHING),
            (Phase.KV_CACHE, Action.KILL),
        ]


def test_what_was_seen_of_one_server_does_not_count_against_the_next() -> None:
    it = scene([*level(3.5, 12), *(look(3 + i / 4, 3.5) for i in range(8))], phase=Phase.SERVING)
    steps(it, 12)
    it.watch.aim(it.server)
    steps(it, 8)
    assert it.events == [], "neither was below the serving floor for three seconds"


class TestKillOnRequest:
    def test_once(self) -> None:
        it = scene(level(60, 3), server=FakeServer(strikes_needed=9))
        it.watch.kill(1.0, "the supervisor is gone", "supervisor_gone")
        it.watch.kill(2.0, "again")
        assert it.actions() == ["supervisor_gone"]
        assert it.server.calls == ["strike"]

    def test_without_a_target(self) -> None:
        it = scene(level(60, 3))
        it.watch.target = None
        it.watch.kill(1.0, "no reason")
        assert it.events == []


@dataclass
class FakeWitness:
    name: str
    words: list[str]

    def heard(self) -> str:
        return self.words.pop(0) if self.words else ""


def test_what_the_kernel_says_is_noted_now_and_then_and_decides_nothing() -> None:
    it = scene(level(30, 13, every_s=1))
    it.watch.witnesses = (FakeWitness("a", ["NV_ERR"] * 12), FakeWitness("b", ["", "max 0 -> 1"]))
    steps(it, 12)
    told = [(event.at_s, event.reason) for event in it.events if event.action == "notice"]
    assert told == [(0, "NV_ERR"), (1, "max 0 -> 1"), (REPEAT_S, "NV_ERR")]
    assert "strike" not in it.server.calls


def test_sitting_there_for_hours_takes_no_memory() -> None:
    class Nowhere:
        def append(self, sample: Sample, phase: Phase | None = None, action: Action = Action.NOTHING) -> None:
            pass

    it = scene(look(i / 4, 60 + i % 7) for i in range(6000))
    it.watch.record = Nowhere()
    steps(it, 1000)
    it.server.calls.clear()
    gc.collect()
    gc.disable()  # as in the guard: what only the collector could free would pile up
    try:
        before = len(gc.get_objects())
        steps(it, 4000)
        it.server.calls.clear()
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()
