"""How a guarded boot looks: the verdict, the phases as they come, the answer, the end."""

import os
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from moet_boot.cli.output import Output
from moet_boot.cli.preflight_view import verdict_view
from moet_boot.exits import Exit
from moet_boot.launch.plan import LaunchPlan
from moet_boot.launch.shell_words import shell_line, shell_word
from moet_boot.machine.snapshot import Docker
from moet_boot.phases import Phase
from moet_boot.preflight import Level, Prepared, Request, prepare
from moet_boot.preflight.document import preflight_document
from moet_boot.receipts.redact import redact_argv, redact_env
from moet_boot.supervise.container_runtime import end_orphans, fetch_image
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.runtimes import ATTEMPTERS
from moet_boot.supervise.serve import ServeOptions, Serving
from moet_boot.supervise.status import Status
from moet_boot.units import format_bytes


class ServeView(Listener):
    """Shows one `serve` command: talk on stderr, the answer on stdout; NDJSON events in JSON mode."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._started = time.monotonic()
        self._available: int | None = None
        self._folder: Path | None = None
        self._answer: str | None = None
        self._verdict = ""

    @property
    def listener(self) -> Listener:
        """Hears of the boot."""
        return self

    def serve(self, request: Request, options: ServeOptions) -> int:
        """Serve to the end and return the exit code."""
        ending = Serving(request, options, self, ATTEMPTERS, _clear, fetch_image).run()
        receipt = str(self._folder / "receipt.json") if self._folder else None
        document: dict[str, Any] = {"profile": request.profile, "verdict": self._verdict, "outcome": ending.outcome}
        document |= {"reason": ending.reason, "answer": self._answer, "receipt": receipt}
        self._output.document("serve", document | {"exit_code": int(ending.exit_code)})
        if ending.outcome == "stopped":
            self._say(f"end: {ending.reason}", "green")
        elif ending.outcome != "refused" or ending.exit_code is Exit.NOT_READY:
            self._say(f"error: {ending.reason}", "bold red")
        if receipt and not self._output.json_mode:
            self._output.say(f"receipt: {receipt}")
        return int(ending.exit_code)

    def judged(self, prepared: Prepared) -> None:
        """Show the verdict: all of it when there is something to know, else one line."""
        verdict = prepared.verdict
        self._verdict = verdict.level.value
        self._output.event("preflight", preflight_document(prepared, time.monotonic() - self._started))
        if self._output.json_mode:
            return
        if verdict.level is Level.SAFE:
            count = len(verdict.passes)
            need = format_bytes(prepared.forecast.host_required_bytes)
            self._say(f"preflight: safe ({count} checks passed; needs {need} of memory)", "green")
        else:
            self._output.talk.print(verdict_view(prepared))
        if verdict.level is not Level.REFUSE:
            self._output.say(f"plan: {_plan_words(prepared.plan)}")

    def serving_already(self, status: Status) -> None:
        """Say that nothing needs to be done."""
        self._say(f"already serving: {status.profile} at {status.url} (supervisor {status.supervisor_pid})", "green")

    def opened(self, folder: Path) -> None:
        """Remember where the receipt lies."""
        self._folder = folder

    def begin(self, pid: int | None) -> None:
        self._event("begin", pid=pid)
        if not self._output.json_mode:
            self._output.say(f"{self._clock(0.0)} {Phase.STARTING.words} (pid {pid})")

    def phase(self, phase: Phase, at_s: float) -> None:
        self._event("phase", at_s=at_s, phase=phase.value)
        if not self._output.json_mode and phase is not Phase.SERVING:
            left = "" if self._available is None else f", {format_bytes(self._available)} available"
            self._output.say(f"{self._clock(at_s)} {phase.words}{left}")

    def ready(self, at_s: float) -> None:
        self._event("ready", at_s=at_s)
        if not self._output.json_mode:
            self._say(f"{self._clock(at_s)} ready: health, model and one generated token", "bold green")

    def answer(self, question: str, text: str) -> None:
        self._answer = text
        if not self._output.json_mode:
            self._output.say(f"asked: {question}")
        # a model may answer anything; a terminal must not obey it
        self._output.data("".join(c if c.isprintable() else " " for c in text))

    def note(self, text: str) -> None:
        self._event("note", text=text)
        if not self._output.json_mode:
            self._say(text, "yellow")

    def tick(self, available_bytes: int | None) -> None:
        self._available = available_bytes

    def _event(self, name: str, **facts: Any) -> None:
        self._output.event("serve-event", {"event": name, **facts})

    def _say(self, text: str, style: str) -> None:
        if not self._output.json_mode:
            self._output.say(text, style=style)

    @staticmethod
    def _clock(at_s: float) -> str:
        return f"[{at_s:7.1f} s]"


def show_plan(request: Request, output: Output, *, fail_on_warn: bool) -> int:
    """Print the exact plan and, for a container, the equivalent `docker run` line; starts nothing."""
    prepared = prepare(request, env=os.environ)
    plan = prepared.plan
    document: dict[str, Any] = preflight_document(prepared, 0.0)
    document.pop("duration_s")
    document["plan"] = asdict(replace(plan, argv=tuple(redact_argv(plan.argv)), env=redact_env(plan.env)))
    document["plan"]["digest"] = plan.digest
    document["plan"]["command"] = command_line(prepared)
    output.document("serve-plan", document)
    code = prepared.verdict.exit_code(fail_on_warn=fail_on_warn)
    if not output.json_mode:
        if prepared.verdict.level is not Level.SAFE:
            output.talk.print(verdict_view(prepared))
        output.raw(command_line(prepared))
    return int(code)


def command_line(prepared: Prepared) -> str:
    """The plan as one line for a shell, secrets redacted."""
    plan = prepared.plan
    if plan.runtime == "docker":
        from moet_boot.launch.container_request import container_request
        from moet_boot.launch.docker_line import docker_run_line

        # the labels are those of the real plan: its digest is over the secrets too
        request = container_request(plan, prepared.snapshot.docker or Docker(present=False))
        command, env = tuple(redact_argv(request.command)), redact_env(request.env)
        return docker_run_line(replace(request, command=command, env=env))
    env_words = (f"{name}={shell_word(value)}" for name, value in redact_env(plan.env).items())
    return " ".join([*env_words, shell_line(redact_argv(plan.argv))])


def _clear(plan: LaunchPlan) -> list[str]:
    return end_orphans() if plan.container else []


def _plan_words(plan: LaunchPlan) -> str:
    """What is started, in one line, secrets redacted; a guarded image gets no arguments."""
    started = [f"container {plan.container.name} of {plan.container.image}"] if plan.container else []
    return " ".join([*started, *redact_argv(plan.argv)])
