"""The real guard process: it kills what it must, nothing else, and nobody survives the death of both watchers."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moet_boot.errors import MoetBootError
from moet_boot.guard import handle as handle_module
from moet_boot.guard.cgroup import create_cgroup, remove_cgroup
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.events import read_events
from moet_boot.guard.handle import GuardHandle, start_guard
from moet_boot.guard.leash import leashed
from moet_boot.guard.messages import Target
from moet_boot.guard.processes import read_process
from moet_boot.guard.sample import Action
from moet_boot.guard.spool import read_records, read_spool
from moet_boot.phases import Phase
from moet_boot.units import MIB
from tests.guard.scenes import SPARK
from tests.guard.unruly import PATIENCE_S, TREES, after, named, number, python, shell, until, within

ENDLESS = 1 << 60
"""A floor that every machine is below: the guard acts at its first look."""
NEVER = replace(SPARK, hard_floor=1, serving_floor=1, serving_hard_floor=1, projection_ceiling=1, stall_psi_full=101)
AT_ONCE = replace(NEVER, hard_floor=ENDLESS, projection_ceiling=ENDLESS)


SILENCE_S = handle_module.SILENCE_S


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that a busy machine does not let run for seconds is not gone; tests of its silence say so."""
    monkeypatch.setattr(handle_module, "SILENCE_S", PATIENCE_S)


@contextmanager
def guarding(tmp_path: Path, floors: Any = NEVER, **settings: Any) -> Iterator[GuardHandle]:
    handle = start_guard(GuardConfig(floors, tmp_path / "spool", tmp_path / "events.ndjson", **settings))
    try:
        yield handle
    finally:
        handle.stop()


def still_there(handle: GuardHandle) -> bool:
    return handle.alive


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardHandle]:
    """One guard for all tests that only talk to it; it kills nobody."""
    with guarding(tmp_path_factory.mktemp("calm")) as handle:
        yield handle


def heard(handle: GuardHandle, action: str) -> bool:
    seen: list[str] = []

    def came() -> bool:
        seen.extend(event.action for event in handle.poll_events())
        return action in seen

    return until(came)


def test_it_watches_records_and_leaves_a_healthy_server_alone(tmp_path: Path) -> None:
    n = number()
    with shell("sleep {n} & wait", n) as server, guarding(tmp_path) as handle:
        handle.guard(Target((server.pid,)))
        assert heard(handle, "target")
        assert until(lambda: len(handle.samples()) >= 2)
        assert handle.alive
        assert handle.protection.startswith("memory ")
        handle.stop()
        handle.stop()
        assert not still_there(handle)
        assert len(named(n)) == 2
        assert [e.action for e in read_events(tmp_path / "events.ndjson")] == ["started", "target"]


@pytest.mark.parametrize("program", [TREES["grandchildren"], TREES["setsid"]], ids=["grandchildren", "setsid"])
def test_below_the_floor_the_whole_tree_dies_and_nobody_else(tmp_path: Path, program: str) -> None:
    n, decoy = number(), number()
    with (
        shell("sleep {n} & wait", decoy),
        shell("sleep {n} & wait", decoy, session=False),
        shell(program, n) as server,
        guarding(tmp_path, AT_ONCE) as handle,
    ):
        assert until(lambda: len(named(n)) >= 1 and len(named(decoy)) == 4)
        handle.guard(Target((server.pid,)))
        assert heard(handle, "killed")
        assert named(n) == []
        assert len(named(decoy)) == 4
        assert server.wait(PATIENCE_S) == -signal.SIGKILL
        assert handle.alive, "it stays until it is told to stop"
        assert any(action is Action.KILL for _, _, action in read_records(tmp_path / "spool"))


def test_on_a_leash_nobody_gets_away(tmp_path: Path) -> None:
    n = number()
    with guarding(tmp_path, AT_ONCE) as handle:
        command = leashed(["sh", "-c", TREES["double fork"].format(n=n), str(n)])
        server = subprocess.Popen(command, start_new_session=True)
        assert until(lambda: len(named(n)) >= 4)
        handle.guard(Target((server.pid,), leashed=True))
        assert heard(handle, "killed")
        assert named(n) == []
        assert server.wait(PATIENCE_S) == -signal.SIGKILL


def test_in_a_cgroup_nobody_gets_away(tmp_path: Path) -> None:
    n = number()
    group = create_cgroup(f"guard-test-handle-{os.getpid()}")
    if group is None:
        pytest.skip("needs the right to make a cgroup: run as root")
    with guarding(tmp_path, AT_ONCE) as handle, shell(after(tmp_path / "go", TREES["double fork"]), n) as server:
        (group / "cgroup.procs").write_text(str(server.pid))
        (tmp_path / "go").touch()
        assert until(lambda: len(named(n)) >= 3)
        handle.guard(Target((), cgroup=str(group)))
        assert heard(handle, "killed")
        assert named(n) == []
    assert until(lambda: remove_cgroup(group))


def test_observing_only_it_kills_nobody(tmp_path: Path) -> None:
    n = number()
    with shell("exec sleep {n}", n) as server, guarding(tmp_path, AT_ONCE, observe_only=True) as handle:
        handle.guard(Target((server.pid,)))
        assert heard(handle, "would kill")
        assert server.poll() is None


class TestWhatTheSupervisorSays:
    def test_phases_choose_the_floor(self, tmp_path: Path) -> None:
        n = number()
        with shell("exec sleep {n}", n) as server, guarding(tmp_path, AT_ONCE, phase=Phase.SERVING) as handle:
            handle.guard(Target((server.pid,)))
            assert heard(handle, "target")
            time.sleep(0.3)
            assert server.poll() is None, "the serving floor holds"
            handle.set_phase(Phase.WARM_UP)
            assert heard(handle, "killed")
            assert read_records(tmp_path / "spool")[-1][1] is Phase.WARM_UP

    def test_readiness_is_the_serving_phase(self, tmp_path: Path) -> None:
        n, floors = number(), replace(NEVER, serving_hard_floor=ENDLESS)
        with shell("exec sleep {n}", n) as server, guarding(tmp_path, floors) as handle:
            handle.guard(Target((server.pid,)))
            assert heard(handle, "target")
            assert server.poll() is None, "the boot floor holds"
            handle.set_ready()
            assert heard(handle, "killed")

    def test_progress_may_be_noted_as_often_as_one_likes(self, calm: GuardHandle) -> None:
        for _ in range(20_000):
            calm.note_progress()
        count = len(calm.samples())
        assert until(lambda: calm.alive and len(calm.samples()) > count)

    def test_a_target_that_is_gone_is_told(self, calm: GuardHandle) -> None:
        calm.guard(Target((2**22 + 1,)))
        assert until(lambda: any("no process to guard" in e.reason for e in calm.poll_events()))
        assert calm.alive

    def test_a_cgroup_with_us_in_it_is_refused(self, calm: GuardHandle, tmp_path: Path) -> None:
        (tmp_path / "cgroup.procs").write_text(str(os.getpid()))
        (tmp_path / "cgroup.kill").touch()
        calm.guard(Target((), cgroup=str(tmp_path)))
        assert until(lambda: any("must live" in e.reason for e in calm.poll_events()))
        assert (tmp_path / "cgroup.kill").read_text() == ""

    def test_the_supervisor_is_never_a_target(self, calm: GuardHandle) -> None:
        calm.guard(Target((os.getpid(),)))
        assert until(lambda: any("no process to guard" in e.reason for e in calm.poll_events()))


class TestTheGuardsOwnEnd:
    def test_its_death_is_noticed_before_its_silence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(handle_module, "SILENCE_S", 3600.0)
        with guarding(tmp_path) as handle:
            assert until(lambda: len(handle.samples()) >= 1)
            os.kill(handle.pid, signal.SIGKILL)
            assert until(lambda: not handle.alive)
            handle.stop()
            assert handle.poll_events()[0].action == "started"
            assert len(read_spool(tmp_path / "spool")) >= 1, "the last samples survive"

    def test_a_guard_that_is_stopped_counts_as_gone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(handle_module, "SILENCE_S", 3600.0)
        monkeypatch.setattr(handle_module, "STOPPED_S", 0.1)
        monkeypatch.setattr(handle_module, "END_S", 0.1)
        with guarding(tmp_path) as handle:
            assert handle.alive
            os.kill(handle.pid, signal.SIGSTOP)
            assert until(lambda: not handle.alive)
            os.kill(handle.pid, signal.SIGCONT)
            assert until(lambda: handle.alive)

    @pytest.mark.parametrize(
        ("silent_s", "stopped", "alive"),
        [(0.5, True, True), (0.7, True, False), (1.9, False, True), (2.1, False, False)],
        ids=["a short stop", "stopped", "late, as on a loaded machine", "stuck"],
    )
    def test_silence_alone_needs_longer_than_a_stop_that_is_seen(
        self, calm: GuardHandle, monkeypatch: pytest.MonkeyPatch, silent_s: float, stopped: bool, alive: bool
    ) -> None:
        monkeypatch.setattr(handle_module, "SILENCE_S", SILENCE_S)
        monkeypatch.setattr(GuardHandle, "_listen", lambda _self: None)
        monkeypatch.setattr(GuardHandle, "_is_stopped", lambda _self: stopped)
        now = calm._heard_s + silent_s
        monkeypatch.setattr("moet_boot.guard.handle.time.monotonic", lambda: now)
        assert calm.alive is alive

    def test_a_supervisor_that_was_away_does_not_take_its_own_absence_for_silence(
        self, calm: GuardHandle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(handle_module, "SILENCE_S", SILENCE_S)
        later = time.monotonic() + 600

        def alive_at(t_s: float) -> bool:
            with monkeypatch.context() as patch:
                patch.setattr("moet_boot.guard.handle.time.monotonic", lambda: t_s)
                return calm.alive

        assert calm.alive
        assert [alive_at(later + after) for after in (0, 0.9, 1.8)] == [True] * 3, "first it may speak"
        assert not alive_at(later + 2.7), "then it has been silent"
        calm._listened_s = time.monotonic() - 600
        assert still_there(calm)

    def test_signals_meant_for_everybody_do_not_end_it(self, calm: GuardHandle) -> None:
        for number_of in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(calm.pid, number_of)
        count = len(calm.samples())
        assert until(lambda: len(calm.samples()) > count)
        assert calm.alive

    def test_it_is_small_and_rests(self, calm: GuardHandle) -> None:
        with shell("exec sleep {n}", number()) as server:
            calm.guard(Target((server.pid,)))
            assert heard(calm, "target")
            status = Path(f"/proc/{calm.pid}/status").read_text()
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            assert int(fields["VmRSS"].split()[0]) * 1024 < 64 * MIB
            if "memory locked" in calm.protection:
                assert int(fields["VmLck"].split()[0]) > 0
            assert within(0.05, lambda: load_of(calm.pid)), "0.5 % at rest is measured by scripts/bench_guard.py"


def load_of(pid: int) -> float:
    """The part of a processor that a process takes."""
    began, before = time.monotonic(), used(pid)
    time.sleep(0.3)
    return (used(pid) - before) / (time.monotonic() - began)


def used(pid: int) -> float:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


SUPERVISOR = """
import subprocess, sys, time
from pathlib import Path
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.floors import Floors
from moet_boot.guard.handle import start_guard
from moet_boot.guard.leash import leashed
from moet_boot.guard.messages import Target
folder, on_leash, *command = sys.argv[1:]
floors = Floors(1, 1, 1, projection_ceiling=1, stall_psi_full=101)
guard = start_guard(GuardConfig(floors, Path(folder) / "spool", Path(folder) / "events.ndjson"))
command = leashed(command) if on_leash == "yes" else command
server = subprocess.Popen(command, start_new_session=True)
guard.guard(Target((server.pid,), leashed=on_leash == "yes"))
while not any(event.action == "target" for event in guard.poll_events()):
    time.sleep(0.01)
while not guard.samples():
    time.sleep(0.01)
print(guard.pid, server.pid, flush=True)
time.sleep(60)
"""


@contextmanager
def supervised(
    tmp_path: Path, program: str, n: int, *, leash: bool
) -> Iterator[tuple["subprocess.Popen[bytes]", int, int]]:
    """A supervisor with a guard and a server: its process, the guard's pid, the server's."""
    with python(SUPERVISOR, tmp_path, "yes" if leash else "no", "sh", "-c", program.format(n=n), n) as supervisor:
        assert supervisor.stdout is not None
        guard, server = map(int, supervisor.stdout.readline().split())
        try:
            yield supervisor, guard, server
        finally:
            for pid in named(n):
                os.kill(pid, signal.SIGKILL)


def others(n: int, supervisor: "subprocess.Popen[bytes]") -> list[int]:
    return [pid for pid in named(n) if pid != supervisor.pid]


@pytest.mark.parametrize("name", ["setsid", "ignores TERM"])
def test_when_the_supervisor_is_killed_the_guard_ends_the_server_within_a_second(tmp_path: Path, name: str) -> None:
    def seconds_to_the_end() -> float:
        n = number()
        with supervised(tmp_path, TREES[name], n, leash=False) as (supervisor, guard, _):
            time.sleep(0.1)
            supervisor.kill()
            killed = time.monotonic()
            assert until(lambda: not others(n, supervisor))
            taken = time.monotonic() - killed
            assert until(lambda: (p := read_process(guard)) is None or p.state == "Z"), "and then it ends itself"
        assert [e.action for e in read_events(tmp_path / "events.ndjson")][-2:] == ["supervisor_gone", "killed"]
        return taken

    assert within(1.0, seconds_to_the_end)


@pytest.mark.parametrize("name", ["children", "double fork"])
def test_when_both_are_killed_the_server_is_gone_within_a_second(tmp_path: Path, name: str) -> None:
    def seconds_to_the_end() -> float:
        n = number()
        with supervised(tmp_path, TREES[name], n, leash=True) as (supervisor, guard, _):
            os.kill(guard, signal.SIGKILL)
            supervisor.kill()
            killed = time.monotonic()
            assert until(lambda: not others(n, supervisor))
            taken = time.monotonic() - killed
        assert len(read_spool(tmp_path / "spool")) >= 1
        return taken

    assert within(1.0, seconds_to_the_end)


def mentions_python(pid: int) -> bool:
    return b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_who_kills_everything_that_looks_like_python_does_not_kill_the_watchers(tmp_path: Path) -> None:
    n = number()
    with supervised(tmp_path, TREES["double fork"], n, leash=True) as (supervisor, guard, leash):
        family = [supervisor.pid, guard, leash]
        assert until(lambda: [pid for pid in family if mentions_python(pid)] == [supervisor.pid])
        supervisor.kill()
        assert until(lambda: not others(n, supervisor))


class TestStarting:
    def test_a_folder_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(MoetBootError, match="cannot start the memory guard"):
            start_guard(GuardConfig(NEVER, tmp_path / "spool", tmp_path / "no" / "events.ndjson"))

    def test_a_spool_that_cannot_be_made(self, tmp_path: Path) -> None:
        with pytest.raises(MoetBootError, match=r"did not start: .*cannot make the guard's spool") as error:
            start_guard(GuardConfig(NEVER, tmp_path / "no" / "spool", tmp_path / "events.ndjson"))
        assert "so it was not started" in error.value.fix

    def test_a_python_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(MoetBootError, match="cannot start the memory guard"):
            start_guard(GuardConfig(NEVER, tmp_path / "s", tmp_path / "e"), python="/no/such/python")

    def test_a_python_that_ends_without_a_word(self, tmp_path: Path) -> None:
        with pytest.raises(MoetBootError, match="did not start: exit code 1, no message"):
            start_guard(GuardConfig(NEVER, tmp_path / "s", tmp_path / "e"), python="/bin/false")
