"""The names of `MOET_BOOT_*`: which mean something, and which look like a slip of the finger."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from moet_boot.profile.nearest import nearest

PREFIX = "MOET_BOOT_"
EVERYWHERE = ("SET", "ENGINE", "CONFIG", "STATE_DIR", "RUNTIME_DIR")
"""Read where they are needed, by every command: the settings of the profile, and where files lie."""
KNOWN = (
    "PROFILE", "VARIANT", "VERIFY", "ACCEPT_RISK", "MODE", "OBSERVE_ONLY", "FAIL_ON_WARN", "ENDPOINTS_PORT",
    "STOP_GRACE", "BASE_ENTRYPOINT", "BASE_CMD", *EVERYWHERE,
)  # fmt: skip
_OURS = ("LAUNCH", "DEMO_MODEL", "TEST_DOCKER", "ALLOW_SKIPS")
"""Set for the server, the scripts and the tests: no settings, and no slips."""
_SERVICE = re.compile(
    PREFIX + r"(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)", re.ASCII
)
_ADDRESS = ("tcp://", "udp://", "sctp://")


def tells_of_a_service(name: str, text: str) -> bool:
    """Whether Kubernetes (or a link of Docker) put the variable there, for a service named moet-boot or so.

    `MOET_BOOT_PORT=8000` is a person's slip: an orchestrator would write `tcp://10.0.0.1:8000`. Source: Kubernetes,
    "Accessing the Service", environment variables.
    """
    return bool(_SERVICE.fullmatch(name)) or (name.endswith("_PORT") and text.startswith(_ADDRESS))


@dataclass(frozen=True)
class Slip:
    """A variable that nobody reads, and the one that was probably meant."""

    name: str
    meant: str


def slips(names: Iterable[str]) -> list[Slip]:
    """The variables that look like a mistyped one of moet-boot; a name that is near none may be another tool's."""
    strange = sorted({n.removeprefix(PREFIX) for n in names if n.startswith(PREFIX)} - {*KNOWN, *_OURS})
    # compared without the prefix, which makes every two of them alike
    return [Slip(PREFIX + name, PREFIX + meant) for name in strange if (meant := nearest(name, KNOWN))]
