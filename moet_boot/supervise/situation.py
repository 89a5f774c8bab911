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
    doubt: str = ""
    """Why a server that was ready may not be any more: a question that it left unanswered."""
    phase_seconds: dict[Phase, float] = field(default_factory=dict)

    @property
    def in_service(self) -> bool:
        """Whether it generated a token and nothing has spoken against it since."""
        return self.ready and not self.ending and not self.doubt

    def why_not_ready(self) -> str:
        """One sentence for a 503."""
        if self.ending:
            return "the server is being stopped"
        return self.doubt or self.note or f"phase: {self.phase.words}"
