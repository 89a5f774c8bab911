"""The guard process: small, locked in memory, everything opened before it is needed.

It imports the standard library only, and on the way to a kill it starts no process and asks no docker and no NVML:
all of these may block when memory runs out (field notes: unified memory, sections 5 and 8).
"""

import gc
import os
import resource
import select
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.guard import linux
from moet_boot.guard.aside import Aside
from moet_boot.guard.cgroup import Cgroup
from moet_boot.guard.config import GuardConfig
from moet_boot.guard.events import Diary
from moet_boot.guard.floors import Floors
from moet_boot.guard.kill import Killer, may_signal
from moet_boot.guard.messages import GuardEvent, Line, Target, target_of
from moet_boot.guard.pen import Pen
from moet_boot.guard.policy import State, decide
from moet_boot.guard.relief import Relief
from moet_boot.guard.sample import Context, Sample
from moet_boot.guard.sampler import Sampler
from moet_boot.guard.spool import SpoolWriter
from moet_boot.guard.tree import Tree
from moet_boot.guard.watch import Watch
from moet_boot.guard.witnesses import GroupEvents, KernelLog
from moet_boot.phases import Phase

BEAT_S = 0.2
"""Between two signs of life to the supervisor."""
FLUSH_S = 1.0
"""How long the end waits for the disk."""
_WARM_UP = 50


@dataclass
class GuardProcess:
    """The guard's watch and its line to the supervisor."""

    watch: Watch
    line: Line
    diary: Diary
    pen: Pen
    origin_s: float
    never: tuple[int, ...]
    stopping: bool = False

    def run(self) -> None:
        """Guard until the supervisor says stop; if it vanishes, end the server first."""
        beat_s = -BEAT_S
        while not self.stopping:
            wait = self.watch.step()
            now = self.now()
            if now - beat_s >= BEAT_S and self.line.open:
                beat_s = now
                self.line.say(beat=now)
                self.complain()
            if self.line.open:
                select.select([self.line], [], [], wait)
                self.listen()
            else:
                time.sleep(wait)
            if not self.line.open:
                self.abandoned()
        self.pen.flush(FLUSH_S)

    def complain(self) -> None:
        """Tell the supervisor about a disk that does not take what is written: the guard goes on without it."""
        complaint = self.pen.complaint()
        if complaint:
            self.diary.tell(GuardEvent(self.now(), "problem", f"cannot write samples or events: {complaint}"))

    def now(self) -> float:
        """Seconds since the origin."""
        return time.monotonic() - self.origin_s

    def listen(self) -> None:
        """Do what the supervisor asks."""
        for words in self.line.heard():
            if "phase" in words:
                self.watch.phase = Phase(words["phase"])
            if "progress" in words:
                self.watch.progress_s = self.now()
            if "target" in words:
                self.aim(target_of(words["target"]))
            if "stop" in words:
                self.stopping = True

    def aim(self, target: Target) -> None:
        """Guard these processes from now on; what is no longer guarded is let go."""
        tree = Tree(self.never)
        missing = [pid for pid in target.pids if not tree.add_root(pid, anchor=target.leashed)]
        if missing:
            self._problem(f"no process to guard with pid {missing}")
        protected = [pid for pid in target.pids if not may_signal(pid)]
        if protected:
            self._problem(f"no right to signal pids {protected}: run moet-boot as root or as the server's user")
        if isinstance(self.watch.target, Killer):
            self.watch.target.close()
        group = self._group(target)
        self._listen_to(target)
        self.watch.aim(Killer(tree, group) if tree.members or group else None)
        self.diary.note(GuardEvent(self.now(), "target", f"guarding pids {list(target.pids)}"))

    def _listen_to(self, target: Target) -> None:
        """Ask the group of this server from now on, beside the kernel's log."""
        for witness in self.watch.witnesses:
            if isinstance(witness, GroupEvents):
                witness.close()
        others = tuple(witness for witness in self.watch.witnesses if not isinstance(witness, GroupEvents))
        self.watch.witnesses = (*others, GroupEvents(Path(target.cgroup))) if target.cgroup else others

    def _group(self, target: Target) -> Cgroup | None:
        if target.cgroup is None:
            return None
        try:
            return Cgroup(Path(target.cgroup), keep=self.never)
        except MoetBootError as error:
            self._problem(str(error))
            return None

    def _problem(self, text: str) -> None:
        self.diary.note(GuardEvent(self.now(), "problem", text))

    def abandoned(self) -> None:
        """The supervisor is gone: nobody else will stop the server."""
        if self.watch.target is None or self.watch.observe_only:
            self.stopping = True
        else:
            self.watch.kill(self.now(), "the supervisor is gone: the server must not run on alone", "supervisor_gone")


def main(argv: list[str]) -> int:
    """Guard, with a config and the number of an open socket as the two arguments."""
    config = GuardConfig.from_json(argv[0])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # the supervisor decides when guarding ends; whoever signals all of us must not end the guard first
        signal.signal(number, signal.SIG_IGN)
    line = Line(socket.socket(fileno=int(argv[1])))
    guard = _assemble(config, line)
    guard.diary.note(GuardEvent(guard.now(), "started", _harden(guard.watch.floors)))
    guard.run()
    return 0


def _assemble(config: GuardConfig, line: Line) -> GuardProcess:
    origin = time.monotonic() if config.origin_s is None else config.origin_s
    pen = Pen()
    diary = Diary(config.events_path, line, pen.write)
    watch = Watch(
        floors=config.floors,
        eyes=Sampler(lambda: time.monotonic() - origin),
        cleaner=Relief(Aside("relief")),
        record=SpoolWriter(config.spool_path, write_at=pen.write_at),
        note=diary.note,
        observe_only=config.observe_only,
        witnesses=(KernelLog(),),
        phase=config.phase,
    )
    return GuardProcess(watch, line, diary, pen, origin, (os.getppid(), *config.never))


def _harden(floors: Floors) -> str:
    """Make this process hard to starve, after a rehearsal that pages in all that a kill needs; in words what held."""
    state, pushed = State(), Sample(0.0, 0, 0, 0, 100.0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    for _ in range(_WARM_UP):
        decide(state, pushed, Context(None), floors)
    Tree().refresh()
    gc.collect()
    gc.freeze()
    gc.disable()
    locked = linux.lock_memory()
    adjusted = linux.set_oom_score_adj(-1000, -999, -500)
    first = linux.run_first()
    linux.set_process_name("moet-guard")
    return (
        f"memory {'locked' if not locked else f'not locked ({os.strerror(locked)})'}, oom_score_adj "
        f"{'unchanged' if adjusted is None else adjusted}, {'scheduled first' if first else 'ordinary priority'}"
    )
