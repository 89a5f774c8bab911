"""The supervisor's side of the guard: start it, tell it what happens, hear what it did, notice when it is gone."""

import contextlib
import select
import subprocess
import sys
import time
from dataclasses import replace
from typing import NoReturn

from moet_boot.errors import MoetBootError
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.isolated import isolated
from moet_boot.guard.messages import GuardEvent, Line, Target, line_pair, target_words
from moet_boot.guard.processes import read_process
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import read_spool
from moet_boot.phases import Phase

START_S = 10.0
"""How long a guard may take to say that it is up."""
SILENCE_S = 2.0
"""A guard that has not said a word for so long counts as gone, though its process may exist (stuck)."""
STOPPED_S = 0.6
"""The same when the kernel says that it is stopped (SIGSTOP, a debugger): then no load explains its silence."""
AWAY_S = 1.0
"""Who has not listened for so long cannot tell silence from not having listened."""
PROGRESS_S = 0.25
END_S = 2.0


class GuardHandle:
    """A running guard. Not thread-safe; every call returns at once, but `stop`, which waits for its end.

    The supervisor must look at `alive` several times a second and end the server as soon as it is False; `fileno`
    becomes readable when the guard ends or says something, so it can be put into a poll.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", line: Line, config: GuardConfig) -> None:
        self._process = process
        self._line = line
        self._config = config
        self._events: list[GuardEvent] = []
        self._heard_s = self._listened_s = time.monotonic()
        self._progress_s = 0.0
        self.protection = ""
        """What the guard could do for its own safety, in words."""

    @property
    def pid(self) -> int:
        """The guard's pid."""
        return self._process.pid

    def fileno(self) -> int:
        """For select and poll: readable when `poll_events` or `alive` has news."""
        return self._line.fileno()

    @property
    def alive(self) -> bool:
        """Whether it still watches: the process runs, its end of the line is open, and it was heard of lately."""
        self._listen()
        if not self._line.open or self._process.poll() is not None:
            return False
        silent_s = time.monotonic() - self._heard_s
        return silent_s < SILENCE_S and not (silent_s >= STOPPED_S and self._is_stopped())

    def guard(self, target: Target) -> None:
        """Guard these processes and this cgroup from now on, instead of what was guarded before."""
        self._line.say(target=target_words(target))

    def set_phase(self, phase: Phase) -> None:
        """Tell it which phase the boot is in; SERVING means readiness, where the serving floors hold."""
        self._line.say(phase=phase.value)

    def set_ready(self) -> None:
        """The same as set_phase(Phase.SERVING)."""
        self.set_phase(Phase.SERVING)

    def note_progress(self) -> None:
        """Tell it that the engine showed a sign of progress; call it as often as you like."""
        now = time.monotonic()
        if now - self._progress_s >= PROGRESS_S:
            self._progress_s = now
            self._line.say(progress=True)

    def poll_events(self) -> list[GuardEvent]:
        """What it decided and did since the last call, oldest first; also after its end."""
        self._listen()
        events, self._events = self._events, []
        return events

    def samples(self) -> list[Sample]:
        """All samples that the spool holds, oldest first; `t_s` counts from the config's origin."""
        return read_spool(self._config.spool_path)

    def stop(self) -> None:
        """End the guard without touching the server. Safe to call twice, and after the guard has died."""
        self._line.say(stop=True)
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listen()
        self._line.close()

    def wait_until_up(self, deadline_s: float) -> None:
        """Wait for its first word; raises MoetBootError with its last ones when none comes."""
        until = time.monotonic() + deadline_s
        while not self.protection:
            left = until - time.monotonic()
            if left <= 0 or not self.alive:
                self._give_up()
            self._heard_s = time.monotonic()
            select.select([self._line], [], [], min(left, PROGRESS_S))

    def _is_stopped(self) -> bool:
        process = read_process(self.pid)
        return process is not None and process.state in {"T", "t"}

    def _give_up(self) -> NoReturn:
        self._line.close()
        self._process.kill()
        self._process.wait()
        raise MoetBootError(
            f"the memory guard did not start: {self._last_words()}",
            fix="a server without its guard may freeze the machine, so it was not started",
        )

    def _last_words(self) -> str:
        with contextlib.suppress(OSError):
            lines = self._config.errors_path.read_text(errors="replace").strip().splitlines()
            if lines:
                return lines[-1]
        return f"exit code {self._process.returncode}, no message"

    def _listen(self) -> None:
        if not self._line.open:
            return
        now = time.monotonic()
        away, self._listened_s = now - self._listened_s > AWAY_S, now
        for words in self._line.heard():
            if "beat" in words:
                # when it was said, not when it was heard: words of a guard that is gone may still be in the line
                self._heard_s = (self._config.origin_s or 0.0) + float(words["beat"])
            if "event" in words:
                self._take(GuardEvent(**words["event"]))
        if away:
            # who was stopped himself (a shell's ^Z) has missed words: the guard gets its time anew
            self._heard_s = now

    def _take(self, event: GuardEvent) -> None:
        if event.action == "started":
            self.protection = event.reason
        self._events.append(event)


def start_guard(config: GuardConfig, *, python: str = sys.executable) -> GuardHandle:
    """Start a guard and wait until it watches; tell it with `guard(Target(...))` what it may kill.

    Raises MoetBootError when it does not come up, with the reason. When this process ends in whatever way, the guard
    ends the server and then itself.
    """
    config = config if config.origin_s is not None else replace(config, origin_s=time.monotonic())
    ours, theirs = line_pair()
    command = isolated("moet_boot.guard.process", config.to_json(), str(theirs.fileno()), python=python)
    try:
        with config.errors_path.open("wb") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
    except OSError as error:
        ours.close()
        raise MoetBootError(f"cannot start the memory guard: {error}", fix="check the folder of its files") from error
    finally:
        theirs.close()
    handle = GuardHandle(process, Line(ours), config)
    handle.wait_until_up(START_S)
    return handle
