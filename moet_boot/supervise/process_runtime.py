"""One attempt with the server as a process of this machine."""

import tempfile
from pathlib import Path

from moet_boot.guard.floors import floors_of
from moet_boot.guard.leash import leashed
from moet_boot.launch.command import Command
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.process import ServerProcess
from moet_boot.preflight.prepare import Prepared
from moet_boot.supervise.attempt import AttemptEnd, BootAttempt, Hands
from moet_boot.supervise.guarding import RunningGuard, start_real_guard
from moet_boot.supervise.journal import Journal
from moet_boot.supervise.serve import RealClock, Supervision

SOCKETS = "VLLM_RPC_BASE_PATH"


def process_attempt(prepared: Prepared, folder: Path, number: int, journal: Journal, shared: Supervision) -> AttemptEnd:
    """Run one attempt; its log, its samples and the guard's events lie in `folder`."""
    # the engine leaves its sockets behind wherever they are; here they go with the folder
    with tempfile.TemporaryDirectory(prefix="moet-boot-", ignore_cleanup_errors=True) as sockets:
        return _attempt(prepared, folder, number, journal, shared, {SOCKETS: sockets, **prepared.plan.env})


def _attempt(  # noqa: PLR0917  (the attempt's own arguments, and the environment)
    prepared: Prepared, folder: Path, number: int, journal: Journal, shared: Supervision, env: dict[str, str]
) -> AttemptEnd:
    plan = prepared.plan
    server = ServerProcess(
        Command(plan.argv, env, leash=tuple(leashed(())), host=plan.host, port=plan.port),
        LogFile(folder / f"server-{number}.log"),
    )

    def start_guard() -> RunningGuard:
        floors = floors_of(prepared.profile.guard)
        return start_real_guard(floors, folder, number, leashed=True, observe_only=shared.options.observe_only)

    return BootAttempt(
        plan=plan,
        deadlines={phase: d.seconds for phase, d in prepared.profile.deadlines.items()},
        hands=Hands(
            server=server,
            start_guard=start_guard,
            prober=shared.prober,
            clock=RealClock(),
            journal=journal,
            listener=shared.listener,
            signals=shared.signals,
        ),
        timing=shared.options.timing,
        stop_when_ready=shared.options.stop_when_ready,
    ).run()
