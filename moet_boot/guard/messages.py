"""What supervisor and guard say to each other: one JSON object a packet, over a socket pair."""

import json
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

MAX_PACKET = 1 << 14


@dataclass(frozen=True)
class GuardEvent:
    """Something that the guard decided, did or noticed. `at_s`: seconds since the origin of its clock.

    Actions: `started`, `target`, `relieve`, `relieved`, `stop`, `stopped`, `kill`, `killed`, `stuck` (a killed
    process that does not end), `supervisor_gone`, `problem`, `notice` (what the kernel says). Observing only:
    `would relieve`, `would stop`, `would kill`.
    """

    at_s: float
    action: str
    reason: str


@dataclass(frozen=True)
class Target:
    """What the guard may kill: processes with all their descendants, and everybody in a cgroup.

    `leashed`: the pids are those of a leash (moet_boot.guard.leash), which dies last. `cgroup`: a folder of the
    cgroup file system that holds the server and nobody else.
    """

    pids: tuple[int, ...]
    leashed: bool = False
    cgroup: str | None = None


class Line:
    """One end of the line between the two. Sending never waits: who does not listen misses what was said."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        end.setblocking(False)
        self.open = True

    def fileno(self) -> int:
        """For select and poll."""
        return self._end.fileno()

    def say(self, **words: Any) -> bool:
        """Send one packet; False when nobody took it."""
        try:
            self._end.send(json.dumps(words).encode())
        except BlockingIOError:
            return False
        except OSError:
            self.open = False
            return False
        return True

    def heard(self) -> Iterator[dict[str, Any]]:
        """The packets that have come; afterwards `open` says whether the other end still exists."""
        while True:
            try:
                packet = self._end.recv(MAX_PACKET)
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if not packet:
                self.open = False
                return
            words = json.loads(packet)
            if isinstance(words, dict):
                yield words

    def close(self) -> None:
        """Hang up."""
        self.open = False
        self._end.close()


def target_words(target: Target) -> dict[str, Any]:
    """A target as a packet carries it."""
    return asdict(target)


def target_of(words: dict[str, Any]) -> Target:
    """The target of a packet."""
    return Target(tuple(words["pids"]), bool(words["leashed"]), words["cgroup"])


def line_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a new line; packets keep their bounds, and the end of either process is seen by the other."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
