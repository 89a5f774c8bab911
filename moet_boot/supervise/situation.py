"""What the supervisor knows right now, shared with its endpoints, its status file and systemd."""

from dataclasses import dataclass, field

from moet_boot.phases import Phase


@dataclass
class Situation:
    """Written by the supervisor's thread, read by the endpoints. Sizes in bytes."""

    profile: str
    variant: str | None = None
    phase: Phase = Phase.STARTING
    ready: bool = False
    ending: bool = False
    restarts: int = 0
    available_bytes: int | None = None
    lowest_available_bytes: int | None = None
    floor_bytes: int | None = None
    guard_actions: int = 0
    boot_seconds: float | None = None
    note: str = ""
    phase_seconds: dict[Phase, float] = field(default_factory=dict)

    def why_not_ready(self) -> str:
        """One sentence for a 503."""
        if self.ending:
            return "the server is being stopped"
        return self.note or f"phase: {self.phase.words}"
