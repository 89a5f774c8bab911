"""The process runtime against the scripted engine: found wherever it forks to, stopped for good, nothing left."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from moet_boot.errors import ArtefactMissingError, MoetBootError
from moet_boot.exits import Exit
from moet_boot.guard.cgroup import create_cgroup, group_pids
from moet_boot.launch import process
from moet_boot.launch.command import Command
from moet_boot.launch.log_file import READ_BYTES, LogFile
from moet_boot.launch.process import OOM_SCORE_ADJ, ServerProcess
from tests.scripted_engine import start as scripted

READY = b"Application startup complete"
Launch = Callable[..., ServerProcess]


def wait_until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)


def wait_for(server: ServerProcess, text: bytes) -> None:
    wait_until(lambda: text in server.log_tail())


def names(server: ServerProcess) -> list[str]:
    return sorted(p.name for p in server.processes())


def is_there(pid: int) -> bool:
    """Alive, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def segments(server: ServerProcess) -> set[Path]:
    """What its processes have mapped of shared memory."""
    maps = "".join(Path(f"/proc/{p.pid}/maps").read_text(encoding="utf-8") for p in server.processes())
    return {Path(word) for word in maps.split() if word.startswith("/dev/shm/psm_")}


@dataclass(frozen=True)
class PacedClock:
    """Time at another pace: a quick one where something is waited for, a slow one where nothing may be too late."""

    pace: float

    def now(self) -> float:
        return time.monotonic() * self.pace

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, seconds / self.pace))


QUICK, SLOW = 5.0, 0.2


@pytest.fixture
def launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launch]:
    """Starts a scripted engine with the given knobs; whatever is left at the end is killed."""
    # on a busy machine the last look at what is held takes longer, and so does dying
    monkeypatch.setattr(process, "LAST_LOOK_S", 30.0)
    monkeypatch.setattr(process, "KILL_TIMEOUT_S", 150.0)
    servers: list[ServerProcess] = []

    def start(oom_score_adj: int | None = None, pace: float = QUICK, **knobs: object) -> ServerProcess:
        port = scripted.free_port()
        command = Command(scripted.argv(port), scripted.environment(**{"boot_s": 0.05, **knobs}), port=port)
        log = LogFile(tmp_path / f"engine{len(servers)}.log")
        # not raised unless asked: an earlyoom on the machine that runs the tests would pick these first
        server = ServerProcess(command, log, clock=PacedClock(pace), oom_score_adj=oom_score_adj)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.close()


class TestStart:
    def test_its_own_session_and_group_null_stdin_no_core_and_first_for_the_oom_killer(self, launch: Launch) -> None:
        server = launch(OOM_SCORE_ADJ)
        wait_for(server, READY)
        pid = server.pid
        assert pid is not None
        assert os.getsid(pid) == os.getpgid(pid) == pid
        assert Path(f"/proc/{pid}/fd/0").readlink() == Path("/dev/null")
        assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
        for p in server.processes():
            assert Path(f"/proc/{p.pid}/oom_score_adj").read_text(encoding="ascii") == "800\n"

    def test_the_tree_is_the_server_and_its_engine(self, launch: Launch) -> None:
        server = launch()
        wait_for(server, READY)
        assert names(server)[:2] == ["VLLM::EngineCor", "VLLM::Worker"]
        assert server.exited() is None
        assert httpx2.get(f"http://127.0.0.1:{server.command.port}/health").status_code == 200

    def test_the_leash_goes_before_the_command(self, tmp_path: Path) -> None:
        command = Command(("/bin/echo", "server"), leash=("/usr/bin/env", "MARK=1"))
        server = ServerProcess(command, LogFile(tmp_path / "log"))
        server.start()
        wait_until(server.exited)
        assert server.new_output() == b"server\n"
        server.close()

    def test_environment_and_folder(self, tmp_path: Path) -> None:
        command = Command(("/bin/sh", "-c", "pwd; echo $ADDED; echo $HOME"), {"ADDED": "yes"}, cwd=tmp_path)
        server = ServerProcess(command, LogFile(tmp_path / "log"))
        server.start()
        wait_until(server.exited)
        assert server.new_output().decode().split() == [str(tmp_path), "yes", os.environ["HOME"]]
        server.close()

    @pytest.mark.parametrize(
        ("argv", "error", "code", "words"),
        [
            pytest.param((), MoetBootError, Exit.FAILURE, "no command", id="no command"),
            pytest.param(("no-such-engine",), ArtefactMissingError, Exit.ARTEFACT_MISSING, "no-such-engine", id="gone"),
            pytest.param(("./vllm",), ArtefactMissingError, Exit.ARTEFACT_MISSING, "./vllm", id="no such path"),
            pytest.param(("./plain",), MoetBootError, Exit.FAILURE, "not executable", id="not executable"),
            pytest.param(("./broken",), MoetBootError, Exit.FAILURE, "Exec format error", id="no program"),
        ],
    )
    def test_what_cannot_be_started_is_one_clear_error(
        self, tmp_path: Path, argv: tuple[str, ...], error: type[MoetBootError], code: Exit, words: str
    ) -> None:
        broken = tmp_path / "broken"
        broken.write_bytes(b"\x00\x01\x02\x03")
        broken.chmod(0o755)
        (tmp_path / "plain").touch(0o644)
        server = ServerProcess(Command(argv, cwd=tmp_path), LogFile(tmp_path / "log"))
        with pytest.raises(error, match=words) as caught:
            server.start()
        assert caught.value.code is code
        assert caught.value.fix
        assert server.pid is None
        server.close()


class TestGroup:
    """Where this user may make control groups, all of the server is in one; elsewhere the tree does the work."""

    def test_all_of_the_server_is_in_its_group(self, launch: Launch) -> None:
        server = launch(daemon="setsid")
        wait_for(server, READY)
        if server.group is not None:
            assert set(group_pids(server.group)) == {p.pid for p in server.processes()}
        group = server.group
        server.close()
        assert group is None or not group.exists()

    def test_what_killed_supervisors_left_is_removed(self, launch: Launch) -> None:
        old = create_cgroup("moet-boot-0000")
        launch()
        assert old is None or not old.exists()

    def test_without_a_group_nobody_is_missed(self, launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "create_cgroup", lambda _name: None)
        server = launch(daemon="double", ignore_term=True)
        wait_for(server, READY)
        assert server.cgroup is None
        pids = [p.pid for p in server.processes()]
        assert server.stop(0).left == ()
        assert not any(is_there(pid) for pid in pids)

    def test_a_group_that_takes_nobody_is_given_up(
        self, launch: Launch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        full = tmp_path / "full"
        full.mkdir()
        (full / "cgroup.procs").mkdir()
        monkeypatch.setattr(process, "create_cgroup", lambda _name: full)
        server = launch()
        assert server.group is None
        wait_for(server, READY)
        assert server.stop(150).left == ()


class TestEnding:
    @pytest.mark.parametrize(
        ("knobs", "code", "number", "words"),
        [
            pytest.param({"exit": 3}, 3, None, "exit code 3", id="exit code"),
            pytest.param({"exit_signal": 11}, None, 11, "signal 11", id="segmentation fault"),
            pytest.param({"fail": "unknown_flag"}, 2, None, "exit code 2", id="usage"),
            pytest.param({"port_busy": True}, 1, None, "exit code 1", id="port"),
        ],
    )
    def test_how_it_ended(
        self, launch: Launch, knobs: dict[str, object], code: int | None, number: int | None, words: str
    ) -> None:
        server = launch(**knobs)
        wait_until(server.exited)
        ended = server.exited()
        assert ended is not None
        assert (ended.code, ended.signal, ended.words) == (code, number, words)

    def test_exit_code_0_after_the_engine_died(self, launch: Launch) -> None:
        server = launch(die_after_s=0.1)
        wait_until(server.exited)
        assert server.exited() is not None
        assert server.exited().code == 0  # type: ignore[union-attr]
        assert b"EngineDeadError" in server.log_tail()

    def test_nothing_before_the_start_and_nothing_to_stop(self, tmp_path: Path) -> None:
        server = ServerProcess(Command(("/bin/true",)), LogFile(tmp_path / "log"))
        assert server.exited() is None
        assert server.processes() == []
        assert server.stop(1).left == ()
        server.kill_now()
        server.close()
        server.close()


class TestStop:
    def test_a_ready_server_ends_at_the_first_term(self, launch: Launch) -> None:
        server = launch(pace=SLOW, shm=True)
        wait_for(server, READY)
        report = server.stop(150)
        assert (report.terms, report.forced, report.left) == (1, False, ())
        assert server.exited() is not None
        assert server.exited().code == 0  # type: ignore[union-attr]
        assert server.processes() == []

    def test_a_term_swallowed_by_the_boot_is_repeated(self, launch: Launch) -> None:
        server = launch(hang_in="kv_cache", swallow_terms=1)
        wait_for(server, b"KV cache size")
        report = server.stop(100)
        assert report.terms >= 2, "two that come before a busy machine lets it run are one to the server"
        assert (report.forced, report.left) == (False, ())
        assert report.seconds >= 2
        assert server.exited() is not None
        assert server.exited().signal == signal.SIGINT  # type: ignore[union-attr]

    def test_who_ignores_term_is_killed(self, launch: Launch) -> None:
        server = launch(ignore_term=True)
        wait_for(server, READY)
        report = server.stop(0.3)
        assert (report.forced, report.left) == (True, ())
        assert server.exited() is not None
        assert server.exited().signal == signal.SIGKILL  # type: ignore[union-attr]
        assert server.processes() == []

    def test_without_grace_it_is_killed_at_once(self, launch: Launch) -> None:
        server = launch(pace=SLOW)
        wait_for(server, READY)
        report = server.stop(0)
        assert (report.terms, report.forced) == (0, True)
        assert report.seconds < 1

    def test_the_engine_that_survives_a_killed_api_process_is_swept(self, launch: Launch) -> None:
        server = launch()
        wait_for(server, READY)
        assert server.pid is not None
        engine = [p.pid for p in server.processes() if p.name.startswith("VLLM::")]
        os.kill(server.pid, signal.SIGKILL)
        wait_until(server.exited)
        assert names(server) == ["VLLM::EngineCor", "VLLM::Worker"]
        report = server.stop(150)
        assert report.left == ()
        assert not any(is_there(pid) for pid in engine)

    @pytest.mark.parametrize("ignore_term", [False, True], ids=["heeds TERM", "ignores TERM"])
    @pytest.mark.parametrize("kind", ["setsid", "double"])
    def test_a_daemon_that_left_the_session_is_found(self, launch: Launch, kind: str, ignore_term: bool) -> None:
        server = launch(daemon=kind, ignore_term=ignore_term)
        wait_for(server, READY)
        wait_until(lambda: "sleep" in names(server))
        daemons = [p for p in server.processes() if p.name == "sleep"]
        assert len(daemons) == 1
        assert daemons[0].session != server.pid
        assert server.stop(0.5 if ignore_term else 150).left == ()
        assert not is_there(daemons[0].pid)

    def test_a_daemon_is_found_after_the_first_process_died(self, launch: Launch) -> None:
        server = launch(daemon="double")
        wait_for(server, READY)
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        wait_until(server.exited)
        wait_until(lambda: "sleep" in names(server))
        server.kill_now()
        assert server.processes() == []

    def test_nothing_else_is_touched(self, launch: Launch) -> None:
        ours = subprocess.Popen(["/bin/sleep", "60"])
        own_session = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
        server, other = launch(daemon="double"), launch(daemon="double")
        wait_for(server, READY)
        wait_for(other, READY)
        wait_until(lambda: "sleep" in names(other))
        others = {p.pid for p in other.processes()}
        server.stop(150)
        assert ours.poll() is None
        assert own_session.poll() is None
        assert {p.pid for p in other.processes()} == others
        assert other.exited() is None
        for decoy in (ours, own_session):
            decoy.kill()
            decoy.wait()

    def test_stop_twice_and_close_twice(self, launch: Launch) -> None:
        server = launch()
        wait_for(server, READY)
        server.stop(150)
        again = server.stop(150)
        assert (again.terms, again.forced, again.left) == (0, False, ())
        server.close()
        server.close()
        assert server.exited() is not None

    def test_close_leaves_nobody_behind(self, launch: Launch) -> None:
        server = launch(daemon="setsid")
        wait_for(server, READY)
        pids = [p.pid for p in server.processes()]
        server.close()
        assert not any(is_there(pid) for pid in pids)

    def test_nothing_is_left_uncollected(self, launch: Launch) -> None:
        server = launch(daemon="double")
        wait_for(server, READY)
        pids = [p.pid for p in server.processes()]
        server.stop(150)
        assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


class TestLeftovers:
    def test_shared_memory_of_a_killed_engine_is_removed(self, launch: Launch) -> None:
        server = launch(shm=True)
        wait_for(server, READY)
        (held,) = segments(server)
        report = server.stop(0)
        assert report.removed == (str(held),)
        assert not held.exists()

    def test_a_close_without_a_stop_cleans_up_too(self, launch: Launch) -> None:
        server = launch(shm=True)
        wait_for(server, READY)
        (held,) = segments(server)
        server.close()
        assert not held.exists()

    def test_segments_seen_before_everything_died(self, launch: Launch) -> None:
        server = launch(shm=True)
        wait_for(server, READY)
        # the supervisor's loop looks again and again, each time only for a moment
        wait_until(lambda: server.exited() or server._leftovers._held)
        assert server.pid is not None
        os.killpg(server.pid, signal.SIGKILL)
        wait_until(lambda: not server.processes())
        assert len(server.stop(150).removed) == 1

    def test_the_rendezvous_file_that_every_boot_leaves(self, launch: Launch) -> None:
        server = launch(rendezvous=True)
        wait_until(lambda: READY in server.new_output())
        (removed,) = server.stop(150).removed
        assert "vllm_dist_" in removed
        assert not Path(removed).exists()

    def test_a_port_that_somebody_else_took_meanwhile_is_reported(self, launch: Launch) -> None:
        first = launch(exit_after_s=0.0)
        wait_until(first.exited)
        first.stop(0)
        with scripted.listener(first.command.port):
            assert first.stop(0).left == (f"port {first.command.port} is taken by another process",)


class TestLog:
    def test_a_flood_loses_no_line_and_comes_in_pieces_that_leave_the_loop_free(self, launch: Launch) -> None:
        server = launch(flood_mib=20)
        taken = bytearray()
        longest = 0
        while READY not in taken[-1000:]:
            piece = server.new_output()
            taken += piece
            longest = max(longest, len(piece))
            assert server.exited() is None
        assert taken.count(b"x" * 99 + b"\n") == 20 * 1024 * 10
        assert longest <= READ_BYTES
        assert len(server.log.segments()) == 2
        server.stop(150)
