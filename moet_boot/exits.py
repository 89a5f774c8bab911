"""The exit codes, a contract with every script and orchestrator that calls moet-boot."""

from enum import IntEnum


class Exit(IntEnum):
    """What an exit code of moet-boot means (design: one table, never renumbered)."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    REFUSED = 3
    WARNED = 4
    ARTEFACT_DAMAGED = 5
    ARTEFACT_MISSING = 6
    NOT_READY = 7
    GUARD_STOPPED = 8
    ACCEPTANCE_FAILED = 9
    BUSY = 10
    SERVER_DIED = 11
    BUG = 70
    INTERRUPTED = 130
    TERMINATED = 143


MEANING: dict[Exit, str] = {
    Exit.DONE: "done",
    Exit.FAILURE: "known failure with no better code",
    Exit.USAGE: "usage, profile or override invalid",
    Exit.REFUSED: "refused by the preflight",
    Exit.WARNED: "warnings, with --fail-on-warn",
    Exit.ARTEFACT_DAMAGED: "artefact damaged or of the wrong revision",
    Exit.ARTEFACT_MISSING: "artefact missing",
    Exit.NOT_READY: "server did not become ready",
    Exit.GUARD_STOPPED: "stopped by the memory guard",
    Exit.ACCEPTANCE_FAILED: "acceptance failed",
    Exit.BUSY: "lock, port or GPU taken",
    Exit.SERVER_DIED: "server died after it was ready and the restart budget is spent",
    Exit.BUG: "a bug in moet-boot (a log path is printed)",
    Exit.INTERRUPTED: "interrupted (SIGINT)",
    Exit.TERMINATED: "terminated (SIGTERM or SIGHUP)",
}
