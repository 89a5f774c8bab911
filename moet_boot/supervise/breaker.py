"""The memory of failures that outlives moet-boot: a restart loop around it must not hammer the machine."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.places import made
from moet_boot.profile.model import Restart


@dataclass(frozen=True)
class PastFailure:
    """One failed boot or death: wall-clock seconds, class, sentence."""

    at: float
    kind: str
    sentence: str


class Breaker:
    """Past failures of one plan, on disk. A damaged file counts as none: it must not block a healthy boot."""

    def __init__(self, folder: Path, key: str) -> None:
        self._path = folder / f"breaker-{key[:16]}.json"
        self._unwritten: list[PastFailure] = []

    def failures(self) -> list[PastFailure]:
        """All remembered failures, the oldest first."""
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return [PastFailure(float(r["at"]), str(r["kind"]), str(r["sentence"])) for r in rows]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def open_since(self, now: float, policy: Restart, besides: Iterable[PastFailure] = ()) -> list[PastFailure]:
        """The failures that keep the breaker open at wall-clock time `now`; empty while it is closed.

        `besides`: failures that nobody could remember here, because moet-boot was killed.
        A new moet-boot gets no new budget: a service manager that starts it again and again must not do what
        moet-boot itself refuses to do.
        """
        past = sorted([*self.failures(), *besides], key=lambda failure: failure.at)
        recent = [failure for failure in past if 0 <= now - failure.at <= policy.window_s]
        return recent if len(recent) > policy.budget else []

    def remember(self, failure: PastFailure, *, window_s: float) -> list[PastFailure]:
        """Add one failure, forget those older than the window, and return what is left."""
        past = [*self.failures(), *self._unwritten]
        kept = [f for f in past if failure.at - f.at <= window_s] + [failure]
        try:
            self._write(kept)
            self._unwritten = []
        except (OSError, MoetBootError):
            # a full disk must not give a server more restarts than its budget
            self._unwritten.append(failure)
        return kept

    def _write(self, failures: list[PastFailure]) -> None:
        made(self._path.parent)
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        rows = [{"at": f.at, "kind": f.kind, "sentence": f.sentence} for f in failures]
        try:
            temporary.write_text(json.dumps(rows), encoding="utf-8")
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)

    def forget(self) -> None:
        """Close the breaker: the server was ready and stopped on purpose."""
        self._path.unlink(missing_ok=True)
