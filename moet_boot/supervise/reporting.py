"""All that reports on a session while it runs: status file, endpoints, systemd."""

import os
import time
from functools import partial

from moet_boot.forecast.boot import floor_bytes
from moet_boot.launch.plan import LaunchPlan
from moet_boot.preflight.prepare import Prepared
from moet_boot.supervise.endpoints import Endpoints
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.listeners import Several, SituationListener, StatusFile, Systemd
from moet_boot.supervise.notify import SystemdNotifier
from moet_boot.supervise.situation import Situation
from moet_boot.supervise.status import Status, process_start


class Reporting:
    """Opens the reports of one session; `close` takes them all down."""

    def __init__(self, prepared: Prepared, asked: LaunchPlan, receipt_id: str, endpoints_port: int | None) -> None:
        """Raises BusyError when the port of the endpoints is taken."""
        plan, profile = prepared.plan, prepared.profile
        self._situation = Situation(profile.name, profile.variant)
        self._floor_in = partial(floor_bytes, profile.guard)
        self._endpoints = None if endpoints_port is None else Endpoints(self._situation, endpoints_port)
        now = time.time()
        self._file = StatusFile(
            Status(
                profile=profile.name,
                variant=profile.variant,
                url=plan.url,
                port=plan.port,
                served_name=plan.served_name,
                plan_digest=asked.digest,
                receipt=receipt_id,
                runtime=plan.runtime,
                container=plan.container.name if plan.container else None,
                supervisor_pid=os.getpid(),
                supervisor_start=process_start(os.getpid()) or 0.0,
                phase=self._situation.phase.words,
                started_at=now,
                updated_at=now,
                endpoints_port=self.endpoints_port,
            ),
            self._situation,
        )
        self._systemd = SystemdNotifier()

    @property
    def endpoints_port(self) -> int | None:
        """Where the endpoints listen, or None."""
        return self._endpoints.port if self._endpoints else None

    def together_with(self, listener: Listener) -> Listener:
        """One listener for all of it; the situation first, because the others read it."""
        return Several(
            [SituationListener(self._situation, self._floor_in), self._file, Systemd(self._systemd), listener]
        )

    def close(self) -> None:
        """Take everything down."""
        self._situation.ending = True
        self._systemd.send("STOPPING=1")
        self._file.close()
        if self._endpoints:
            self._endpoints.close()
