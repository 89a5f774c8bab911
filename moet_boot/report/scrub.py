"""Take out of texts and JSON what a bug report must not say: secrets, people, machines, addresses.

What is left out by mistake costs a question, what is left in cannot be taken back: in doubt it goes.
"""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from moet_boot.machine.anonymous import scrub, without_registry
from moet_boot.receipts.redact import REDACTED, is_secret_name, redact_argv, redact_text
from moet_boot.report.identity import Identity

PUBLIC_FIELDS = frozenset(
    {"revision", "pinned_revision", "digest", "digests", "image_digest", "profile_digest", "sha256"}
)
"""Fields whose long hex numbers name public content; wherever such a number occurs, it may stay."""

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_KEY_LOOK = re.compile(
    r"\b(?:nvapi-|xox[abprs]-|glpat-|AKIA|ASIA|github_pat_)[\w.-]{8,}|\beyJ[\w-]{4,}\.[\w-]+\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_HEADER = re.compile(r"(?i)((?:authorization|cookie)\\?[\"']?\s*[:=]\s*\\?[\"']?)[^\n\"'\\]+")
_BEARER = re.compile(r"(?i)\b(bearer)\s+[\w.~+/=-]{4,}")
_NAME = r"(?:api[-_]?key|token|secret|passw(?:or)?d|credential)[\w-]{0,64}"
"""The rest of the name is looked up backwards, and all is bounded: one endless line must not take minutes."""
_BEFORE = re.compile(r"[\w.-]*\Z")
_ASSIGNED = re.compile(
    rf"(?i)(?P<name>{_NAME})(?P<sign>\\?[\"']?\s*[:=]\s*)"
    r"(?P<value>\[[^\]]{0,512}\]|\\\"[^\"]{0,512}\"|\"[^\"]{0,512}\"|'[^']{0,512}'"
    r"|[\[({]?\\?[\"'][^\"'\n]{0,512}|[^\s&)}\]'\"]+)"
)
_FLAG = re.compile(
    rf"(?i)(?<!-)(?P<name>--(?!-)[\w-]{{0,64}}?{_NAME})(?P<value>(?:\\?[\"']?,?[ \t]+(?!\\?[\"']?-)\S+)+)"
)
_COUNT = re.compile(r"[\"']?\d[\d._,]{0,8}[\"']?,?")
_NOTHING = re.compile(r"(?i)none,?|null,?|true,?|false,?|\[redacted\],?|\[\]|''|\"\"")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]+)+")
_MAC = re.compile(r"(?i)(?<![\w:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:-])")
_ADDRESS = re.compile(
    r"(?i)(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)|(?<![\w:.])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])"
)
_URL_HOST = re.compile(r"(?<=://)(?P<user>(?:[^/\s@'\"]{0,128}@)?)(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*)")
_FIELD_NAME = re.compile(r"[\w.() +-]{1,80}")
_HEX_ID = re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{40})\b")


@dataclass(frozen=True)
class Scrubber:
    """Cleans for one identity. `public`: long hex numbers that may stay (commits, digests of published files)."""

    identity: Identity
    public: frozenset[str] = field(default=frozenset())

    def text(self, text: str) -> str:
        """A text of any length without secrets, names, homes, addresses and ids."""
        text = _ANSI.sub("", text)
        for secret in sorted(self.identity.secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        text = _without_secrets(text)
        text = "".join(self._without_ids(text))
        if self._names:
            text = self._names.sub("[name]", text)
        text = _MAC.sub("[mac]", _MAIL.sub("[mail]", text))
        return _URL_HOST.sub(_hidden_host, _ADDRESS.sub(_hidden_address, text))

    def value(self, value: Any, name: str = "") -> Any:
        """The same for JSON: what stands under the name of a secret goes whole, command lines argument by argument."""
        if isinstance(value, dict):
            return {self._key(key): self.value(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            words = redact_argv(value) if all(isinstance(word, str) for word in value) else value
            return [self.value(word, name) for word in words]
        if isinstance(value, str):
            return REDACTED if value and is_secret_name(name) else self.text(without_registry(value, name))
        return value

    def _key(self, key: str) -> str:
        """Names of fields, variables and settings are ours, and two that became one would lose something."""
        return key if _FIELD_NAME.fullmatch(key) else self.text(key)

    def _without_ids(self, text: str) -> Iterator[str]:
        for index, piece in enumerate(_HEX_ID.split(text)):
            # the split gives texts and numbers by turns
            is_public = index % 2 == 1 and piece in self.public
            yield piece if is_public else scrub(piece, "", self.identity.home, self.identity.names)

    @cached_property
    def _names(self) -> re.Pattern[str] | None:
        if not self.identity.names:
            return None
        some = "|".join(sorted(map(re.escape, self.identity.names), key=len, reverse=True))
        return re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{some})(?:\.[A-Za-z][A-Za-z0-9-]*)*(?![A-Za-z0-9])")


def public_ids(value: Any, name: str = "") -> Iterator[str]:
    """All texts of a JSON value that stand in a field for public content."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from public_ids(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from public_ids(inner, name)
    elif isinstance(value, str) and name in PUBLIC_FIELDS:
        yield value.removeprefix("sha256:")


def _without_secrets(text: str) -> str:
    text = _HEADER.sub(rf"\1{REDACTED}", redact_text(_KEY_LOOK.sub(REDACTED, text)))
    text = _BEARER.sub(rf"\1 {REDACTED}", text)
    return _ASSIGNED.sub(_hidden_value, _FLAG.sub(_hidden_arguments, text))


def _hidden_value(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    before = _BEFORE.search(match.string, max(match.start() - 64, 0), match.start())
    whole = (before[0] if before else "") + name
    counted = name.lower().endswith("tokens") and _COUNT.fullmatch(value)
    if counted or not is_secret_name(whole) or _NOTHING.fullmatch(value):
        return match[0]
    return f"{name}{match['sign']}{REDACTED}"


def _hidden_arguments(match: re.Match[str]) -> str:
    return f"{match['name']} {REDACTED}" if is_secret_name(match["name"]) else match[0]


def _hidden_address(match: re.Match[str]) -> str:
    try:
        address = ipaddress.ip_address(match[0])
    except ValueError:
        return match[0]
    return match[0] if address.is_loopback or address.is_unspecified else "[address]"


def _hidden_host(match: re.Match[str]) -> str:
    own = match["host"] == "localhost" or re.fullmatch(r"127\.[\d.]+|0\.0\.0\.0", match["host"])
    return match["user"] + (match["host"] if own else "[host]")
