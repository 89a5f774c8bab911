"""Who hears of a boot."""

from moet_boot.phases import Phase


class Listener:
    """What `attempt` tells others about: phases, readiness, notes. This one keeps silent; override what you need."""

    def begin(self, pid: int | None) -> None:
        """The server was started."""

    def phase(self, phase: Phase, at_s: float) -> None:
        """The boot entered a phase."""

    def ready(self, at_s: float) -> None:
        """The server generated its first token."""

    def down(self) -> None:
        """The server serves no more: it ended, or is being stopped."""

    def doubt(self, words: str) -> None:
        """A server that was ready left a question unanswered; "" once it answers again."""

    def answer(self, question: str, text: str) -> None:
        """The server answered a question."""

    def note(self, text: str) -> None:
        """Something that a person should know."""

    def tick(self, available_bytes: int | None) -> None:
        """Memory was looked at."""
