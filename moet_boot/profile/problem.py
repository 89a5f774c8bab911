"""What is wrong with a profile file: every problem with its file, line, key and remedy."""

from collections.abc import Sequence
from dataclasses import dataclass

from moet_boot.errors import UsageError


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `key` is dotted (`env.VLLM_MOE_W2.value`), empty for the file itself.

    `against` is the key that it contradicts, when it takes two to be wrong.
    """

    file: str
    key: str
    what: str
    fix: str = ""
    line: int | None = None
    against: str = ""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (where, self.key, self.what) if part)


class ProfileError(UsageError):
    """A profile that cannot be used: the first problem is the message, `problems` has them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first, more = problems[0], len(problems) - 1
        rest = f" (and {more} more: `moet-boot profiles check` lists them)" if more else ""
        super().__init__(f"{first}{rest}", fix=first.fix)
        self.problems = tuple(problems)
