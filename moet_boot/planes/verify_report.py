"""What a verification found, and what was asked of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from moet_boot.planes.checkpoint import CheckpointIdentity
from moet_boot.planes.discovery import Discovery
from moet_boot.planes.file_state import FileState
from moet_boot.planes.moet2pf_read import FileFormat
from moet_boot.planes.stamp import Stamp
from moet_boot.planes.workers import default_threads


class VerifyMode(StrEnum):
    """How many slots are hashed: a few, a seeded share, or all."""

    QUICK = "quick"
    SAMPLE = "sample"
    FULL = "full"


@dataclass(frozen=True)
class VerifyOptions:
    """What to verify a file against and how.

    `share` of the slots and `seed` are for sample mode. `checkpoint` and `revision` are compared with the
    header when they are given; the checkpoint also gives the geometry of a file that does not say its own.
    `rebuild` slots, drawn by the seed too, are built from the checkpoint and compared (needs numpy).
    """

    mode: VerifyMode = VerifyMode.QUICK
    share: float = 0.05
    seed: int = 0
    threads: int = field(default_factory=default_threads)
    whole_file: bool = False
    checkpoint: CheckpointIdentity | None = None
    revision: str | None = None
    rebuild: int = 0
    direct: bool = True


@dataclass(frozen=True)
class BadSlot:
    """A damaged slot: where its bytes are and what is wrong with them."""

    slot: int
    layer: int
    expert: int
    offset: int
    bytes: int
    reason: str


@dataclass(frozen=True)
class SlotFindings:
    """What the slots of a file gave: `verified` are good, slots in neither count were not looked at.

    `problems` are faults of the file as a whole, `notes` limits of the proof.
    `body_offset` is where the slots begin, 0 when unknown.
    """

    slots: int = 0
    verified: int = 0
    bad: tuple[BadSlot, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    discovery: Discovery | None = None
    body_offset: int = 0


@dataclass(frozen=True)
class VerifyReport:
    """The outcome for one file; `stamp` is an earlier full verification that was taken on trust."""

    path: Path
    format: FileFormat
    options: VerifyOptions
    findings: SlotFindings
    revision: str | None
    whole_file_sha256: str | None
    known: str | None
    io: str
    bytes_read: int
    state: FileState
    duration_s: float
    stamp: Stamp | None = None

    @property
    def unchecked(self) -> int:
        """Slots that were not looked at."""
        return self.findings.slots - self.findings.verified - len(self.findings.bad)

    @property
    def ok(self) -> bool:
        """Nothing wrong was found, and something was proven."""
        proven = self.findings.verified > 0 or self.known is not None
        return proven and not self.findings.problems and not self.findings.bad

    @property
    def complete(self) -> bool:
        """The proof covers every slot, now or on record."""
        return self.ok and (self.unchecked == 0 or self.known is not None or self.stamp is not None)
