"""Questions to the server that may take long, asked beside the supervisor's loop."""

import threading
from collections.abc import Callable
from typing import Protocol

from moet_boot.supervise.effects import Probe


class Pending(Protocol):
    """A question that was asked."""

    def answer(self) -> Probe | None:
        """The answer, or None while it is not there yet."""


class Asked:
    """A question asked in a thread of its own, which never keeps the process from ending."""

    def __init__(self, question: Callable[[], Probe]) -> None:
        self._question = question
        self._answer: Probe | None = None
        threading.Thread(target=self._run, name="moet-boot-probe", daemon=True).start()

    def answer(self) -> Probe | None:
        """The answer, or None while it is not there yet."""
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = self._question()
        except Exception as error:  # noqa: BLE001  (a probe that breaks is an unanswered question, not a crash)
            self._answer = Probe(ok=False, step="probe", fault=f"{type(error).__name__}: {error}")
