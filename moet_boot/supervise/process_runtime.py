"""One attempt with the server as a process of this machine."""

import tempfile

from moet_boot.guard.leash import leashed
from moet_boot.launch.belongings import Record
from moet_boot.launch.command import Command
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.process import ServerProcess
from moet_boot.launch.sweep import SOCKETS
from moet_boot.supervise.attempt_end import AttemptEnd
from moet_boot.supervise.one_attempt import Supervision, run_attempt
from moet_boot.supervise.patience import Patience
from moet_boot.supervise.real_clock import ImpatientClock

SOCKETS_VARIABLE = "VLLM_RPC_BASE_PATH"


def process_attempt(shared: Supervision, number: int) -> AttemptEnd:
    """Run one attempt on a leash: whatever happens to moet-boot, the server ends with it."""
    plan, patience = shared.prepared.plan, Patience(shared.signals)
    # the engine leaves its sockets behind wherever they are; here they go with the folder
    with tempfile.TemporaryDirectory(prefix=SOCKETS, ignore_cleanup_errors=True) as sockets:
        env = {SOCKETS_VARIABLE: sockets, **plan.env}
        server = ServerProcess(
            Command(plan.argv, env, leash=tuple(leashed(())), host=plan.host, port=plan.port),
            LogFile(shared.log_path(number)),
            clock=ImpatientClock(patience.lost, shared.look),
            record=Record(folders=[sockets]),
        )
        return run_attempt(shared, server, number, leashed=True, patience=patience)
