"""Why a server ended or hangs: class, cause, remedy and the log line that proves it. Pure.

The last line of a log is often only a summary, and exit code 0 does not mean a wanted stop (engine.md sections
4 and 5): the cause is the first error line that is known, wherever in the log it stands.
"""

import re
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from moet_boot.engine.failure_table import FailureClass, Known, known_failures
from moet_boot.phases import Phase

EVIDENCE_CHARS = 400
_SIGNAL_BASE = 128
_NEVER_AGAIN_BEFORE_READY = {FailureClass.USAGE, FailureClass.ARTEFACT, FailureClass.MEMORY}
_CRASH_SIGNALS = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}

_LINE = re.compile(
    r"(?:\([^()]{1,60} pid=\d+\) ?)?"
    r"(?:(?P<level>[A-Z]{4,8})(?: \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\]|:) ?)?"
    r"(?P<message>.*)"
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TALK = {"DEBUG", "INFO", "WARNING"}
# Blank lines and what a traceback quotes; the details of a pydantic error are indented by two.
_SOURCE = re.compile(r"\s*$|    |  File ")
_PYTHON_ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?::|$)")
_LOOKS_BAD = re.compile(r"[Ee]rror|ERR|[Ee]xception|invalid|died|fatal|Timed out|CUDA|GPU|FLOOR|moe_w2|cubin")


@dataclass(frozen=True)
class Ending:
    """What is known about a server that ended, or that was given up.

    `exit_code` and `signal`: how its first process ended; both None while it still runs.
    `hung_in`: the phase whose deadline passed (or `serving` for one that answers but generates nothing).
    """

    log: str = ""
    exit_code: int | None = None
    signal: int | None = None
    was_ready: bool = False
    stopped_by_guard: bool = False
    oom_killed: bool = False
    hung_in: Phase | None = None

    @property
    def fatal_signal(self) -> int | None:
        """The signal that ended it; containers and shells report it as an exit code above 128."""
        if self.signal is None and self.exit_code is not None and self.exit_code > _SIGNAL_BASE:
            return self.exit_code - _SIGNAL_BASE
        return self.signal


@dataclass(frozen=True)
class Failure:
    """A diagnosis. `evidence` is the log line it rests on, if any."""

    kind: FailureClass
    cause: str
    remedy: str
    evidence: str | None = None

    @property
    def sentence(self) -> str:
        """Cause and remedy in one sentence."""
        return f"{self.cause}: {self.remedy}"


def restartable(kind: FailureClass, *, was_ready: bool) -> bool:
    """Whether a restart may help (design section 7): wrong settings, damaged files and too little memory stay."""
    return was_ready or kind not in _NEVER_AGAIN_BEFORE_READY


def diagnose(ending: Ending) -> Failure:
    """The most certain explanation: what moet-boot itself saw, then the log, then how the process ended."""
    found = _from_log(ending.log)
    if ending.stopped_by_guard or ending.oom_killed:
        return _killed_for_memory(ending, found)
    if found and not found.general:
        return found.failure
    if ending.hung_in:
        return _hang(ending.hung_in, ending.log)
    if found:
        return found.failure
    return _from_status(ending, _first_python_error(ending.log))


@dataclass(frozen=True)
class _Match:
    failure: Failure
    general: bool


def _killed_for_memory(ending: Ending, found: _Match | None) -> Failure:
    who = "the memory guard stopped the server" if ending.stopped_by_guard else "the kernel killed it for memory"
    remedy = "the receipt's curve shows the phase and the lowest point: free memory or ask for less"
    evidence = found.failure.evidence if found else None
    return Failure(FailureClass.MEMORY, who, remedy, evidence)


def _hang(phase: Phase, log: str) -> Failure:
    if phase is Phase.SERVING:
        cause, remedy = "the server answers but generates no token", "restart it; report it if it comes again"
    else:
        cause = f"nothing moved on from the phase '{phase.words}' before its deadline"
        remedy = "the last lines of the log say what it waits for; on a slow disk raise the phase's deadline"
    return Failure(FailureClass.HANG, cause, remedy, _last_line(log))


def _from_log(log: str) -> _Match | None:
    general: _Match | None = None
    lines = _error_lines(log)
    for index, line in enumerate(lines):
        for known in known_failures():
            if (known.general and general) or not (match := known.pattern.search(line)):
                continue
            found = _matched(known, match, _with_details(lines, index))
            if not found.general:
                return found
            general = found
    return general


def _matched(known: Known, match: re.Match[str], evidence: str) -> _Match:
    return _Match(Failure(known.kind, known.explain(match), known.remedy, evidence), known.general)


def _with_details(lines: list[str], index: int) -> str:
    """The line, and what a pydantic error says below it."""
    details = lines[index + 1 : index + 3] if "validation error" in lines[index] else []
    return " ".join([lines[index], *(d.strip() for d in details)])[:EVIDENCE_CHARS]


def _error_lines(log: str) -> list[str]:
    """The lines that may explain a failure, without prefix; after a validation error also its details."""
    kept: list[str] = []
    details = 0
    for line in _messages(log.splitlines()):
        if _LOOKS_BAD.search(line) or details > 0:
            kept.append(line)
            details -= 1
        if "validation error" in line:
            details = 2
    return kept


def _messages(lines: Iterable[str]) -> Iterator[str]:
    """What the server says, without the lines that it marks as mere information or warning."""
    for line in lines:
        found = _LINE.match(_ANSI.sub("", line))
        if found and found["level"] not in _TALK and not _SOURCE.match(found["message"]):
            yield found["message"]


def _first_python_error(log: str) -> str | None:
    """The first exception that the log reports."""
    return next((m[:EVIDENCE_CHARS] for m in _messages(log.splitlines()) if _PYTHON_ERROR.match(m)), None)


def _last_line(log: str) -> str | None:
    return next((m[:EVIDENCE_CHARS] for m in reversed(list(_messages(log.splitlines())))), None)


def _from_status(ending: Ending, error: str | None) -> Failure:
    """What exit code or signal alone can tell."""
    fatal = ending.fatal_signal
    if fatal == signal.SIGKILL:
        remedy = "look for the OOM killer, earlyoom or a person in the kernel log"
        return Failure(FailureClass.MEMORY, "something killed the server with SIGKILL", remedy, error)
    if fatal in _CRASH_SIGNALS:
        cause = f"the server crashed ({signal.Signals(fatal).name})"
        return Failure(FailureClass.ENGINE_CRASH, cause, "report it with `moet-boot report`", error)
    if fatal is not None:
        cause = f"something else stopped the server ({_signal_name(fatal)})"
        return Failure(FailureClass.UNKNOWN, cause, "find out who sent the signal; start it again", error)
    if ending.exit_code == 2:  # noqa: PLR2004  (what argparse exits with)
        cause, remedy = "the server refused its command line", "its last log lines name the argument"
        return Failure(FailureClass.USAGE, cause, remedy, error or _last_line(ending.log))
    return _unexplained(ending, error)


def _unexplained(ending: Ending, error: str | None) -> Failure:
    if ending.exit_code == 0:
        cause = "the server ended by itself with exit code 0, which nobody asked for"
    elif ending.exit_code is None:
        cause = "the server gave no reason"
    else:
        cause = f"the server ended with exit code {ending.exit_code}"
    detail = f" ({error})" if error else ""
    remedy = "read the end of its log, and report it with `moet-boot report`"
    return Failure(FailureClass.UNKNOWN, cause + detail, remedy, error or _last_line(ending.log))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
