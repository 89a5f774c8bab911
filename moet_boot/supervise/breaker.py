"""The memory of failures that outlives moet-boot: a restart loop around it must not hammer the machine."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from moet_boot.places import made


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

    def failures(self) -> list[PastFailure]:
        """All remembered failures, the oldest first."""
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))
            return [PastFailure(float(r["at"]), str(r["kind"]), str(r["sentence"])) for r in rows]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def remember(self, failure: PastFailure, *, window_s: float) -> list[PastFailure]:
        """Add one failure, forget those older than the window, and return what is left."""
        kept = [f for f in self.failures() if failure.at - f.at <= window_s] + [failure]
        made(self._path.parent)
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        rows = [{"at": f.at, "kind": f.kind, "sentence": f.sentence} for f in kept]
        temporary.write_text(json.dumps(rows), encoding="utf-8")
        temporary.replace(self._path)
        return kept

    def forget(self) -> None:
        """Close the breaker: the server was ready and stopped on purpose."""
        self._path.unlink(missing_ok=True)
