"""Whose machine this is, so that a report does not say it."""

import getpass
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from moet_boot.machine.anonymous import own_home
from moet_boot.profile.files import shipped_names
from moet_boot.receipts.redact import is_secret_name

COMMON_NAMES = frozenset(
    {"root", "localhost", "user", "users", "admin", "ubuntu", "debian", "nvidia", "docker", "vllm", "model", "server"}
)
"""Names of users and hosts that say nothing, and that logs are full of."""
MIN_NAME = 3
MIN_SECRET = 6
"""Anything shorter occurs in any text; variables with a secret's name are hidden whatever their length."""


@dataclass(frozen=True)
class Identity:
    """`names` of user and host, and `secrets` that are known word for word."""

    home: str
    names: frozenset[str]
    secrets: frozenset[str]


def own_identity(env: Mapping[str, str]) -> Identity:
    """This user on this machine; secrets are the values of variables whose names say so."""
    host = platform.node()
    names = {_user(), host, host.partition(".")[0], env.get("HOSTNAME", ""), env.get("USER", "")}
    said = {name for name in names if len(name) >= MIN_NAME and name.lower() not in COMMON_NAMES | set(shipped_names())}
    secrets = {value for name, value in env.items() if is_secret_name(name) and len(value) >= MIN_SECRET}
    return Identity(own_home(), frozenset(said), frozenset(secrets))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
