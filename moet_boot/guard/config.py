"""What a guard process is started with; it travels as one argument in JSON."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from moet_boot.guard.floors import Floors
from moet_boot.phases import Phase


@dataclass(frozen=True)
class GuardConfig:
    """How to guard.

    `spool_path`, `events_path`: where samples and events go; their folder must exist. `observe_only`: note what
    would be done, do nothing. `origin_s`: the time.monotonic() that counts as second 0 (None: the guard's start).
    `phase`: where the boot is when the guard starts. `never`: more pids that must not be touched.
    """

    floors: Floors
    spool_path: Path
    events_path: Path
    observe_only: bool = False
    origin_s: float | None = None
    phase: Phase = Phase.STARTING
    never: tuple[int, ...] = ()

    @property
    def errors_path(self) -> Path:
        """Where a guard that fails says why."""
        return self.events_path.with_suffix(".err")

    def to_json(self) -> str:
        """One line of JSON that `from_json` reads back."""
        body = asdict(self) | {"spool_path": str(self.spool_path), "events_path": str(self.events_path)}
        return json.dumps(body | {"floors": self.floors.to_json()})

    @classmethod
    def from_json(cls, text: str) -> "GuardConfig":
        """The config of `to_json`; raises ValueError, KeyError or TypeError for anything else."""
        body: dict[str, Any] = json.loads(text)
        return cls(
            floors=Floors.from_json(body["floors"]),
            spool_path=Path(body["spool_path"]),
            events_path=Path(body["events_path"]),
            observe_only=bool(body["observe_only"]),
            origin_s=body["origin_s"],
            phase=Phase(body["phase"]),
            never=tuple(body["never"]),
        )
