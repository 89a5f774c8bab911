"""What a log says about a failure: its messages without prefixes, and which of them may explain something. Pure."""

import re
from collections.abc import Iterator

EVIDENCE_CHARS = 400
_DETAILS = 2
_TALK = {"DEBUG", "INFO", "WARNING"}

_LINE = re.compile(
    r"(?:\([^()]{1,60} pid=\d+\) ?)?"
    r"(?:(?P<level>[A-Z]{4,8})(?: \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?|: *))?"
    r"(?P<message>.*)"
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Blank lines and what a traceback quotes; the details of a pydantic error are indented by two.
_SOURCE = re.compile(r"\s*$|    |  File |  warnings\.warn")
_PYTHON_ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?::|$)")
_LOOKS_BAD = re.compile(r"[Ee]rror|ERR|[Ee]xception|invalid|died|fatal|Timed out|CUDA|GPU|FLOOR|moe_w2|cubin")


def messages(log: str) -> Iterator[str]:
    """What the server says, oldest first, without what it marks as mere information or warning."""
    for line in log.splitlines():
        found = _LINE.match(_ANSI.sub("", line))
        if found and found["level"] not in _TALK and not _SOURCE.match(found["message"]):
            yield found["message"]


def suspicious(log: str) -> list[str]:
    """The messages that may explain a failure, each with what a validation error says below it."""
    kept: list[str] = []
    details = 0
    for message in messages(log):
        if "validation error" in message:
            details = _DETAILS
            kept.append(message)
        elif details:
            details -= 1
            kept[-1] += f" {message.strip()}"
        if _LOOKS_BAD.search(message) and kept[-1:] != [message]:
            kept.append(message)
    return kept


def first_error(log: str) -> str:
    """The first exception that the log reports, or ""."""
    return next((m[:EVIDENCE_CHARS] for m in messages(log) if _PYTHON_ERROR.match(m)), "")


def last_message(log: str) -> str:
    """The last thing that the server says, or ""."""
    last = ""
    for message in messages(log):
        last = message
    return last[:EVIDENCE_CHARS]
