"""numpy is an extra: what needs it says so in one line when it is not there."""

from collections.abc import Iterator
from contextlib import contextmanager

from moet_boot.errors import UsageError


@contextmanager
def planes_extra(purpose: str) -> Iterator[None]:
    """Import numpy or what needs it inside; raises UsageError naming the extra when numpy is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise UsageError(f"{purpose} needs numpy", fix="pip install 'moet-boot[planes]'") from error
