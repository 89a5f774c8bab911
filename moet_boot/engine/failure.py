"""Why a server ended or hangs: class, cause, remedy and the log line that proves it. Pure.

The last line of a log is often only a summary, and exit code 0 does not mean a wanted stop (engine.md sections
4 and 5): the cause is the first error line that is known, wherever in the log it stands.
"""

import signal
from dataclasses import dataclass, replace

from moet_boot.engine.error_lines import EVIDENCE_CHARS, first_error, last_message, suspicious
from moet_boot.engine.failure_table import FailureClass, known_failures
from moet_boot.phases import Phase
from moet_boot.receipts.redact import redact_text

USAGE_EXIT = 2
"""What argparse exits with."""
CANNOT_RUN_EXITS = {126, 127}
"""What shells, the leash and container runtimes exit with when the program itself cannot be run."""
_SIGNAL_BASE = 128
_NEVER_AGAIN_BEFORE_READY = {FailureClass.USAGE, FailureClass.ARTEFACT, FailureClass.MEMORY}
_CRASH_SIGNALS = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}


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
    """The most certain explanation: the guard's act, a known text, the OOM killer, a deadline, then the status.

    What it quotes of the log goes into receipts: keys and tokens are taken out of it first.
    """
    ending = replace(ending, log=redact_text(ending.log))
    known = _known(ending.log, general=False)
    if ending.stopped_by_guard:
        remedy = "free memory or ask for less; the receipt's curve shows the phase and the lowest point"
        evidence = known.evidence if known else None
        return Failure(FailureClass.MEMORY, "the memory guard stopped the server", remedy, evidence)
    if known:
        return known
    if ending.oom_killed:
        cause = f"the kernel's OOM killer ended the server {_when(ending)}"
        return Failure(FailureClass.MEMORY, cause, "free memory or ask for less", _shown(ending.log))
    if ending.hung_in:
        return _hang(ending.hung_in, ending.log)
    return _known(ending.log, general=True) or _from_status(ending)


def _known(log: str, *, general: bool) -> Failure | None:
    """The first suspicious line that the table knows."""
    rows = [row for row in known_failures() if row.general == general]
    for line in suspicious(log):
        for row in rows:
            if match := row.pattern.search(line):
                return Failure(row.kind, row.explain(match), row.remedy, line.strip()[:EVIDENCE_CHARS])
    return None


def _hang(phase: Phase, log: str) -> Failure:
    if phase is Phase.SERVING:
        cause = "the server runs and generates no token any more"
        remedy = "restart it; report it if it comes again"
    else:
        cause = f"nothing moved on from the phase '{phase.words}' before its deadline"
        remedy = "the end of the log says what it waits for; on a slow disk raise the deadline of the phase"
    return Failure(FailureClass.HANG, cause, remedy, last_message(log) or None)


def _from_status(ending: Ending) -> Failure:
    """What exit code or signal alone can tell."""
    fatal = ending.fatal_signal
    kind, cause, remedy = _from_signal(ending, fatal) if fatal is not None else _from_exit(ending)
    return Failure(kind, cause, remedy, _shown(ending.log))


def _from_signal(ending: Ending, fatal: int) -> tuple[FailureClass, str, str]:
    name = _signal_name(fatal)
    if fatal == signal.SIGKILL:
        cause = f"something killed the server with SIGKILL {_when(ending)}, most likely for memory"
        return FailureClass.MEMORY, cause, "look for the OOM killer or earlyoom in the kernel log"
    if fatal in _CRASH_SIGNALS:
        return FailureClass.ENGINE_CRASH, f"the server crashed with {name}", "report it with `moet-boot report`"
    return FailureClass.UNKNOWN, f"{name} ended the server, and moet-boot did not send it", "find out who did"


def _from_exit(ending: Ending) -> tuple[FailureClass, str, str]:
    remedy = "read the end of its log, and report it with `moet-boot report`"
    if ending.exit_code == USAGE_EXIT:
        return FailureClass.USAGE, "the server refused its command line", "its last log lines name the argument"
    if ending.exit_code in CANNOT_RUN_EXITS:
        cause = f"the server's program cannot be run (exit code {ending.exit_code})"
        return FailureClass.USAGE, cause, "correct engine.command in the profile or --engine, or install the engine"
    if ending.exit_code is None:
        return FailureClass.UNKNOWN, "the server gave no reason", remedy
    if ending.exit_code == 0:
        cause = "the server ended by itself with exit code 0, which nobody asked for"
    else:
        cause = f"the server ended with exit code {ending.exit_code}"
    error = first_error(ending.log)
    return FailureClass.UNKNOWN, cause + (f" ({error})" if error else ""), remedy


def _when(ending: Ending) -> str:
    return "while it served" if ending.was_ready else "before it was ready"


def _shown(log: str) -> str | None:
    return first_error(log) or last_message(log) or None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
