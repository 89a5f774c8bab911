"""What `moet-boot entrypoint` is told by the environment of its container."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from moet_boot.engine.argument_settings import Spoken, settings_among
from moet_boot.errors import UsageError
from moet_boot.launch.chained_plan import Chain
from moet_boot.preflight.request import Request, Verify
from moet_boot.profile.load import load_profile
from moet_boot.profile.model import Profile
from moet_boot.profile.nearest import nearest
from moet_boot.supervise.serve import ServeOptions
from moet_boot.supervise.timing import Timing
from moet_boot.supervise.variables import KNOWN, PREFIX, tells_of_a_service

GRACE_S = 7.0
"""`docker stop` waits 10 s by default before it kills: by then a server that ignored TERM must be killed, its memory
freed and the receipt closed, on a machine that may be short of everything."""

T = TypeVar("T")


class Mode(StrEnum):
    """What follows the preflight: moet-boot stays and supervises, or becomes the server."""

    SUPERVISE = "supervise"
    EXEC = "exec"


@dataclass(frozen=True)
class Inside:
    """How to boot in this container."""

    request: Request
    options: ServeOptions
    mode: Mode


def read_inside(env: Mapping[str, str], arguments: Sequence[str]) -> Inside:
    """The settings of `MOET_BOOT_*`; `arguments` are those of `docker run IMAGE ARGUMENTS`.

    Raises UsageError for a name that means nothing (a mistyped one must not be a silent default), for a value that
    cannot be read, and when no profile is named.
    """
    given = {name.removeprefix(PREFIX): text for name, text in env.items() if _is_setting(name, text)}
    _check_names(given)
    read = _Reader(given)
    if "PROFILE" not in given:
        raise UsageError(f"{PREFIX}PROFILE is not set", fix=f"name a profile: docker run -e {PREFIX}PROFILE=spark ...")
    spoken = _spoken(load_profile(given["PROFILE"], given.get("VARIANT")), arguments)
    request = Request(
        profile=given["PROFILE"],
        variant=given.get("VARIANT"),
        sets=spoken.settings,
        verify=read("VERIFY", _verify, Verify.QUICK),
        accepted=read("ACCEPT_RISK", _words, ()),
        extra=spoken.rest,
        chain=Chain(read("BASE_ENTRYPOINT", _argv, ()), read("BASE_CMD", _argv, ())),
    )
    options = ServeOptions(
        observe_only=read("OBSERVE_ONLY", _switch, False),
        fail_on_warn=read("FAIL_ON_WARN", _switch, False),
        endpoints_port=read("ENDPOINTS_PORT", _port, None),
        timing=Timing(grace_s=read("STOP_GRACE", _seconds, GRACE_S)),
    )
    return Inside(request, options, read("MODE", _mode, Mode.SUPERVISE))


def _spoken(profile: Profile, arguments: Sequence[str]) -> Spoken:
    """Arguments that are settings are judged; those of an image with a guarded entrypoint are its own business."""
    takes_ours = profile.container is None or profile.container.pass_arguments
    return settings_among(arguments) if takes_ours else Spoken(rest=tuple(arguments))


def _is_setting(name: str, text: str) -> bool:
    return name.startswith(PREFIX) and bool(text) and not tells_of_a_service(name, text)


class _Reader:
    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given

    def __call__(self, name: str, read: Callable[[str], T], default: T) -> T:
        if name not in self._given:
            return default
        try:
            return read(self._given[name])
        except ValueError as error:
            raise UsageError(f"{PREFIX}{name}={self._given[name]!r}: {error}", fix="correct the variable") from None


def _verify(text: str) -> Verify:
    return Verify(_one_of(text, list(Verify)))


def _mode(text: str) -> Mode:
    return Mode(_one_of(text, list(Mode)))


def _one_of(text: str, known: list[str]) -> str:
    if text not in known:
        raise ValueError(f"expected {' or '.join(known)}")
    return text


def _switch(text: str) -> bool:
    return _one_of(text, ["0", "1"]) == "1"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _argv(text: str) -> tuple[str, ...]:
    """A JSON list of strings; `null` is what an image without one has."""
    try:
        words = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a JSON list of words ({error})") from None
    if not isinstance(words, list | None) or not all(isinstance(word, str) for word in words or ()):
        raise ValueError('expected a JSON list of words, such as ["vllm", "serve"]')
    return tuple(words or ())


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise ValueError("expected a port, 0 for any")
    return int(text)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 3600:  # noqa: PLR2004  (an hour; NaN fails too)
        raise ValueError("expected seconds, from 0 to 3600")
    return seconds


def _check_names(given: Mapping[str, str]) -> None:
    for name in given:
        if name not in KNOWN:
            # compared without the prefix, which makes every two of them alike
            meant = nearest(name, KNOWN)
            raise UsageError(
                f"{PREFIX}{name} means nothing to moet-boot",
                fix=f"did you mean {PREFIX}{meant}?" if meant else f"known: {', '.join(PREFIX + k for k in KNOWN)}",
            )
