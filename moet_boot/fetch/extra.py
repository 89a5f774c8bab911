"""huggingface-hub is an extra: what needs it says so in one line when it is not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from moet_boot.errors import UsageError


@contextmanager
def hub_extra() -> Iterator[None]:
    """Import what needs huggingface-hub inside; raises UsageError naming the extra when it is missing."""
    # it looks up a list of coding agents for its user agent otherwise, from a host that a mirror may not have
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "huggingface_hub":
            raise
        raise UsageError("fetching needs huggingface-hub", fix="pip install 'moet-boot[hub]'") from error
