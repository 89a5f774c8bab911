from pathlib import Path

import pytest

from moet_boot.errors import MoetBootError
from moet_boot.guard.messages import GuardEvent
from moet_boot.launch.ending import ServerExit
from moet_boot.phases import Phase
from moet_boot.receipts.model import CurvePoint
from moet_boot.supervise.attempt_end import Cause
from moet_boot.supervise.effects import Probe
from moet_boot.supervise.timing import Timing
from moet_boot.units import GIB
from tests.supervise.fakes import World

TOKEN = Probe(ok=True, step="generate")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def becomes_ready(world: World, at_s: float = 5.0) -> None:
    def listen() -> None:
        world.server.print("INFO:     Application startup complete.")
        world.prober.token = TOKEN

    world.clock.at(at_s, listen)


def test_a_healthy_boot_goes_through_its_phases_answers_and_stops(world: World) -> None:
    world.clock.at(
        1, lambda: world.server.print("(Worker pid=1) INFO 11-29 12:00:00 [x.py:1] Starting to load model m...")
    )
    world.clock.at(
        2,
        lambda: world.server.print(
            "(EngineCore pid=1) INFO 11-29 12:00:00 [x.py:1] CPU KV cache size: 4,194,304 tokens"
        ),
    )
    becomes_ready(world)

    end = world.attempt(stop_when_ready=True).run()

    assert end.cause is Cause.ASKED
    assert end.failure is None
    assert world.guard.watched == [4242]
    assert end.was_ready
    assert world.notes.phases == [Phase.LOADING_WEIGHTS, Phase.KV_CACHE, Phase.WARM_UP, Phase.SERVING]
    assert world.guard.phases == world.notes.phases
    assert world.notes.answers == ["hello"]
    assert world.server.stops == [Timing().grace_s]
    assert world.guard.stopped
    assert world.server.closed
    receipt = world.on_disk()
    assert [p.phase for p in receipt.attempts[0].phases] == [Phase.STARTING, *world.notes.phases]
    assert receipt.first_answer == "hello"
    assert 5.0 <= (receipt.attempts[0].ready_after_s or 0) < 7.0


def test_health_without_a_token_is_not_ready_and_ends_as_a_hang(world: World) -> None:
    world.clock.at(1, lambda: world.server.print("INFO:     Application startup complete."))
    world.prober.token = Probe(ok=False, step="generate", fault="the server generates tokens without text")

    end = world.attempt().run()

    assert end.cause is Cause.HANG
    assert not end.was_ready
    assert end.failure is not None
    assert end.failure.kind.value == "hang"
    assert "tokens without text" in end.failure.sentence


def test_a_phase_that_outlives_its_deadline_is_a_hang_that_names_the_phase(world: World) -> None:
    world.deadlines[Phase.LOADING_WEIGHTS] = 30.0
    world.clock.at(1, lambda: world.server.print("Starting to load model m..."))

    end = world.attempt().run()

    assert end.cause is Cause.HANG
    assert 30 <= world.clock.now() - 101 < 33
    assert end.failure is not None
    assert "loading weights" in end.failure.sentence


def test_a_phase_without_a_deadline_waits(world: World) -> None:
    world.deadlines.clear()
    becomes_ready(world, at_s=5000)

    assert world.attempt(stop_when_ready=True).run().cause is Cause.ASKED


def test_exit_code_zero_after_readiness_is_a_failure(world: World) -> None:
    becomes_ready(world)

    def die() -> None:
        world.server.print(
            "(APIServer pid=1) ERROR 11-29 12:00:00 [x.py:1] EngineDeadError: EngineCore encountered an issue"
        )
        world.server.end = ServerExit(0)

    world.clock.at(20, die)

    end = world.attempt().run()

    assert end.cause is Cause.EXITED
    assert end.was_ready
    assert end.failure is not None
    assert end.failure.kind.value == "engine_crash"
    assert world.server.stops == [0]  # what it left behind is swept


def test_the_last_words_are_read_before_the_cause_is_named(world: World) -> None:
    def die() -> None:
        world.server.print("vllm: error: unrecognized arguments: --no-such-flag 3")
        world.server.end = ServerExit(2)

    world.clock.at(3, die)

    end = world.attempt().run()

    assert end.failure is not None
    assert end.failure.kind.value == "usage"
    assert "--no-such-flag" in end.failure.sentence + (end.failure.evidence or "")
    assert world.on_disk().attempts[0].server_exit == "exit code 2"


@pytest.mark.parametrize("late", [False, True], ids=["before the exit is seen", "together with the exit"])
def test_a_kill_by_the_guard_ends_as_memory_and_never_as_a_crash(world: World, late: bool) -> None:
    def kill() -> None:
        world.guard.events.append(GuardEvent(4.0, "kill", "MemAvailable 6.3 GiB is below the floor of 8 GiB"))
        if late:
            world.server.end = ServerExit(None, signal=9)

    world.clock.at(4, kill)

    end = world.attempt().run()

    assert end.cause is Cause.GUARD
    assert end.failure is not None
    assert end.failure.kind.value == "memory"
    assert world.on_disk().attempts[0].guard_actions[0].reason.startswith("MemAvailable 6.3")
    assert world.server.stops == [0]


def test_relief_is_recorded_and_the_boot_goes_on(world: World) -> None:
    world.clock.at(2, lambda: world.guard.events.append(GuardEvent(2.0, "relieve", "MemFree 3 GiB")))
    becomes_ready(world)

    assert world.attempt(stop_when_ready=True).run().cause is Cause.ASKED
    assert world.on_disk().attempts[0].guard_actions[0].action == "relieve"


def test_what_the_kernel_says_is_recorded_and_is_no_action_of_the_guard(world: World) -> None:
    world.guard.events.append(GuardEvent(3.0, "notice", "kernel log: NVRM: Xid 31"))
    becomes_ready(world)
    assert world.attempt(stop_when_ready=True).run().cause is Cause.ASKED
    assert "kernel log: NVRM: Xid 31" in world.notes.notes
    assert world.on_disk().attempts[0].guard_actions[0].action == "notice"


def test_a_dead_guard_stops_the_server_within_one_second(world: World) -> None:
    died_at: list[float] = []

    def die() -> None:
        died_at.append(world.clock.now())
        world.guard.alive = False

    world.clock.at(6, die)

    end = world.attempt().run()

    assert end.cause is Cause.GUARD_LOST
    assert world.clock.now() - died_at[0] < 1.0
    assert world.server.stops == [0]


@pytest.mark.parametrize("number", [15, 2, 1], ids=["TERM", "INT", "HUP"])
@pytest.mark.parametrize("ready", [False, True], ids=["in boot", "ready"])
def test_a_signal_stops_the_server_cleanly_at_any_time(world: World, number: int, ready: bool) -> None:
    if ready:
        becomes_ready(world)
    world.clock.at(20, lambda: world.signals.put(number))

    end = world.attempt().run()

    assert (end.cause, end.signal, end.was_ready, end.failure) == (Cause.SIGNAL, number, ready, None)
    assert world.server.stops == [Timing().grace_s]


@pytest.mark.parametrize("number", [15, None], ids=["stopped", "died"])
def test_whoever_listens_hears_that_it_serves_no_more(world: World, number: int | None) -> None:
    def end() -> None:
        if number is None:
            world.server.end = ServerExit(1)
        else:
            world.signals.put(number)

    world.prober.token = Probe(ok=True)
    world.server.print("Application startup complete.")
    world.clock.at(5, end)
    world.attempt().run()
    assert world.notes.ready_at is not None
    assert world.notes.downs == 1


def test_a_server_that_stops_generating_is_a_hang_after_several_looks(world: World) -> None:
    becomes_ready(world)
    world.clock.at(60, lambda: setattr(world.prober, "life", Probe(ok=False, step="generate", fault="no answer")))

    end = world.attempt().run()

    assert end.cause is Cause.HANG
    assert end.was_ready
    assert sum("did not answer" in n for n in world.notes.notes) == Timing().life_misses


def test_one_missed_look_is_forgiven(world: World) -> None:
    becomes_ready(world)
    bad = Probe(ok=False, step="generate", fault="slow")
    world.clock.at(60, lambda: setattr(world.prober, "life", bad))
    world.clock.at(90, lambda: setattr(world.prober, "life", Probe(ok=True)) if len(world.notes.notes) < 3 else None)
    timing = Timing(probe_s=40.0)
    world.clock.at(600, lambda: world.signals.put(15))

    assert world.attempt(timing=timing).run().cause is Cause.SIGNAL
    assert [words[-6:] for words in world.notes.doubts] == ["1 of 3", ""]


def test_an_error_of_ours_never_leaves_the_server_running(world: World) -> None:
    world.clock.at(3, lambda: (_ for _ in ()).throw(RuntimeError("a bug")))

    with pytest.raises(RuntimeError, match="a bug"):
        world.attempt().run()

    assert world.server.killed
    assert world.guard.stopped


def test_a_server_that_cannot_be_started_says_so_and_leaves_nothing(world: World) -> None:
    world.server.start_error = MoetBootError("no such program: /nowhere/vllm")

    with pytest.raises(MoetBootError, match="no such program"):
        world.attempt().run()

    assert world.server.killed
    assert world.server.closed


def test_the_boots_curve_is_kept_at_readiness(world: World) -> None:
    world.guard.samples = [CurvePoint(t_s=1.0, available_bytes=7 * GIB, free_bytes=0)]
    becomes_ready(world)
    world.clock.at(20, world.guard.samples.clear)
    world.clock.at(30, lambda: world.signals.put(15))
    world.attempt().run()
    assert [p.available_bytes for p in world.on_disk().attempts[0].curve] == [7 * GIB]


def test_peaks_come_from_the_guards_samples_where_they_are_lower(world: World) -> None:
    world.memory.available = 50 * GIB
    world.clock.at(1, lambda: world.server.print("Starting to load model m..."))
    becomes_ready(world)
    world.guard.samples = [
        CurvePoint(t_s=0.5, available_bytes=49 * GIB, free_bytes=1),
        CurvePoint(t_s=3.0, available_bytes=20 * GIB, free_bytes=1),
        CurvePoint(t_s=5.5, available_bytes=30 * GIB, free_bytes=1),
    ]

    world.attempt(stop_when_ready=True).run()

    phases = {p.phase: p for p in world.on_disk().attempts[0].phases}
    assert phases[Phase.LOADING_WEIGHTS].peak_host_bytes == 30 * GIB
    assert phases[Phase.STARTING].peak_host_bytes == 1 * GIB
    assert world.on_disk().attempts[0].lowest_available_bytes == 20 * GIB


def test_a_silent_image_is_probed_too(world: World) -> None:
    def listen() -> None:
        world.prober.token = TOKEN

    world.clock.at(30, listen)
    assert world.attempt(stop_when_ready=True).run().was_ready


def test_a_question_that_fails_after_readiness_is_a_hang(world: World) -> None:
    becomes_ready(world)
    world.prober.chat = Probe(ok=False, step="chat", fault="status 500")

    end = world.attempt(stop_when_ready=True).run()

    assert end.cause is Cause.HANG
    assert end.failure is not None
    assert "status 500" in end.failure.sentence


@pytest.mark.parametrize(
    "garbage",
    [b"\xff\xfe\x00", b"x" * 5_000_000, b"\r\r\r", b"\x1b[31mred\x1b[0m"],
    ids=["not UTF-8", "one huge line", "carriage returns", "colours"],
)
def test_unknown_output_never_breaks_the_boot(world: World, garbage: bytes) -> None:
    world.clock.at(1, lambda: world.server.output.append(garbage))
    becomes_ready(world)

    assert world.attempt(stop_when_ready=True).run().cause is Cause.ASKED
