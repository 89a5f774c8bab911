"""Secrets leave a text before it is written anywhere."""

import re
from collections.abc import Mapping, Sequence

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"(?i)(api[-_]?key|token|secret|password|passwd|credential|authorization)")
_NOT_SECRET = re.compile(r"(?i)(max[-_].*tokens?|tokenizer|num[-_].*tokens?|batched[-_]tokens|token[-_]ids?$)")
_SECRET_VALUE = re.compile(
    r"\b(hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,})\b|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable or flag of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET.search(name)


def redact_text(text: str) -> str:
    """The text without values that look like keys, tokens or passwords in addresses."""
    return _SECRET_VALUE.sub(REDACTED, text)


def redact_env(env: Mapping[str, str]) -> dict[str, str]:
    """An environment whose secrets are gone, by name and by look."""
    return {n: REDACTED if is_secret_name(n) and v else redact_text(v) for n, v in env.items()}


def redact_argv(argv: Sequence[str]) -> list[str]:
    """A command line whose secrets are gone: `--api-key X`, `--api-key=X`, and what looks like a key."""
    kept: list[str] = []
    hide_next = False
    for argument in argv:
        if hide_next and not argument.startswith("--"):
            kept.append(REDACTED)
            continue
        name, equals, _ = argument.partition("=")
        hide_next = argument.startswith("-") and is_secret_name(name) and not equals
        hidden = f"{name}={REDACTED}" if equals and is_secret_name(name) else redact_text(argument)
        kept.append(hidden)
    return kept
