"""Where a container's log was read up to, so that a broken connection loses no line and repeats none. Pure.

The engine sends one frame for each line (for each 16 KiB of a longer one), a timestamp in front. Two frames may
carry the same timestamp, and those of stdout and stderr may be out of order by some microseconds: so after a break
the log is asked again from a little before, and every frame that was seen before is dropped as often as it was seen.
"""

from collections import Counter, deque
from dataclasses import dataclass
from datetime import datetime

OVERLAP_S = 1.0
KEPT_S = 2 * OVERLAP_S
KEPT_FRAMES = 100_000
_STAMP = len("2026-01-02T03:04:05.000000006Z")


@dataclass(frozen=True, slots=True)
class _Seen:
    stamp: bytes
    second: float
    content: int


class LogCursor:
    """Takes frames as they come and gives their content back, each once."""

    def __init__(self) -> None:
        self._recent: deque[_Seen] = deque(maxlen=KEPT_FRAMES)
        self._latest: float | None = None
        self._repeated: Counter[tuple[bytes, int]] = Counter()

    @property
    def since(self) -> float | None:
        """From which second (since 1970) to ask again; None: from the beginning."""
        return None if self._latest is None else self._latest - OVERLAP_S

    def reconnect(self) -> None:
        """From here on the frames of `since` come again."""
        self._repeated = Counter((seen.stamp, seen.content) for seen in self._recent)

    def take(self, frame: bytes) -> bytes:
        """The content of a frame, or nothing if it was taken before."""
        stamp, content = frame[:_STAMP], frame[_STAMP + 1 :]
        second = _seconds(stamp)
        if second is None:
            return frame
        key = (stamp, hash(content))
        if self._repeated.get(key, 0) > 0:
            self._repeated[key] -= 1
            return b""
        self._remember(_Seen(stamp, second, key[1]))
        return content

    def _remember(self, seen: _Seen) -> None:
        self._recent.append(seen)
        # the last frame, not the highest time: a clock that was set back must not hide the lines to come
        self._latest = seen.second
        while self._recent[0].second < self._latest - KEPT_S:
            self._recent.popleft()


def _seconds(stamp: bytes) -> float | None:
    """Seconds since 1970, or None for what is no timestamp."""
    try:
        # the library knows microseconds only; nanoseconds are added by hand
        whole = datetime.fromisoformat(stamp[:19].decode("ascii") + "+00:00").timestamp()
        return whole + float(b"0" + stamp[19:-1])
    except ValueError:
        return None
