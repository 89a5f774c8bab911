"""`serve` from a request to an exit code: own server? preflight, lock, receipt, attempts."""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Protocol

from moet_boot.exits import Exit
from moet_boot.launch.plan import LaunchPlan, Runtime
from moet_boot.launch.sweep import sweep_abandoned
from moet_boot.places import state_dir
from moet_boot.preflight import Prepared, Request, plan_for, prepare
from moet_boot.profile.resolve import resolve_profile
from moet_boot.receipts.store import ReceiptStore
from moet_boot.supervise.afterwards import killed_boots
from moet_boot.supervise.attempt_end import AttemptEnd
from moet_boot.supervise.breaker import Breaker
from moet_boot.supervise.journal import Journal
from moet_boot.supervise.listener import Listener
from moet_boot.supervise.memory_now import MachineMemory
from moet_boot.supervise.occupied import hold_port, own_server, refuse_taken_port
from moet_boot.supervise.one_attempt import Supervision
from moet_boot.supervise.opening import open_receipt
from moet_boot.supervise.prober import HttpProber
from moet_boot.supervise.real_clock import RealClock
from moet_boot.supervise.reporting import Reporting
from moet_boot.supervise.session import Ending, Session
from moet_boot.supervise.signals import SIGNAL_EXITS, Interrupted, SignalQueue
from moet_boot.supervise.status import Status
from moet_boot.supervise.timing import Timing
from moet_boot.units import format_seconds


@dataclass(frozen=True)
class ServeOptions:
    """How to supervise. `endpoints_port`: None for no endpoints, 0 for any free port. `pull`: a missing image."""

    stop_when_ready: bool = False
    observe_only: bool = False
    fail_on_warn: bool = False
    retry: bool = False
    endpoints_port: int | None = None
    pull: bool = False
    timing: Timing = field(default_factory=Timing)


class View(Protocol):
    """Who shows a person what happens."""

    @property
    def listener(self) -> Listener:
        """Hears of the boot."""

    def judged(self, prepared: Prepared) -> None:
        """The preflight came to a verdict."""

    def serving_already(self, status: Status) -> None:
        """Our own healthy server is there already."""

    def opened(self, folder: Path) -> None:
        """The receipt of the boot lies here."""


Attempter = Callable[[Supervision, int], AttemptEnd]
"""Runs one attempt, given what all share and its number, 1 for the first."""

Clear = Callable[[LaunchPlan], Iterable[str]]
Fetch = Callable[[LaunchPlan], Iterable[str]]


@dataclass
class Serving:
    """One `serve` command. `attempters`: for each runtime, how one attempt is made.

    `clear` ends what a killed moet-boot left running, `fetch` brings an image that is missing; both say what they do.
    """

    request: Request
    options: ServeOptions
    view: View
    attempters: Mapping[Runtime, Attempter]
    clear: Clear = lambda _plan: ()
    fetch: Fetch = lambda _plan: ()
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    signals: SignalQueue = field(default_factory=SignalQueue)

    def run(self) -> Ending:
        """Boot and supervise until the end.

        Raises MoetBootError subclasses for what keeps it from starting, a refusal apart: that is an Ending.
        """
        self.signals.install()
        try:
            with self.signals.abrupt():
                asked = self._asked()
                prober = HttpProber(asked.url, asked.served_name, _api_key(asked, self.env))
                own = own_server(asked, prober.ready)
                if own is not None:
                    self.view.serving_already(own)
                    return Ending("stopped", Exit.DONE, "our own healthy server is there already")
                lock = hold_port(asked.port)
            with lock:
                with self.signals.abrupt():
                    self._make_room(asked)
                    prepared = prepare(self.request, env=self.env)
                self.view.judged(prepared)
                return self._judged(prepared, asked, prober)
        except Interrupted as interrupted:
            code = SIGNAL_EXITS.get(interrupted.number, Exit.TERMINATED)
            return Ending("interrupted", code, "stopped by a signal before anything was started")

    def _make_room(self, asked: LaunchPlan) -> None:
        """What an unguarded server of ours holds must be free before port and memory are judged."""
        for words in chain(sweep_abandoned(), self.clear(asked)):
            self.view.listener.note(words)
        refuse_taken_port(asked)
        for words in self.fetch(asked) if self.options.pull else ():
            self.view.listener.note(words)

    def _asked(self) -> LaunchPlan:
        """The plan before the machine was looked at: enough to know the port and who serves there."""
        ask = self.request
        profile = resolve_profile(ask.profile, ask.variant, ask.sets, env=self.env)
        return plan_for(ask, profile)

    def _judged(self, prepared: Prepared, asked: LaunchPlan, prober: HttpProber) -> Ending:
        store = ReceiptStore()
        receipt_id, folder = store.create_folder(prepared.profile.name)
        memory = MachineMemory(_gpu_index(prepared))
        journal = Journal(open_receipt(receipt_id, prepared), store, memory)
        self.view.opened(folder)
        refused = self._refused(prepared) or self._tripped(prepared)
        if refused is not None:
            journal.finish(refused.outcome, refused.reason, refused.exit_code)
            return refused
        with journal.told():
            return self._reported(prepared, asked, journal, prober=prober, folder=folder, memory=memory)

    def _reported(
        self,
        prepared: Prepared,
        asked: LaunchPlan,
        journal: Journal,
        *,
        prober: HttpProber,
        folder: Path,
        memory: MachineMemory,
    ) -> Ending:
        reporting = Reporting(prepared, asked, journal.receipt.id, self.options.endpoints_port)
        try:
            listener = reporting.together_with(self.view.listener)
            journal.complain = listener.note
            if prepared.lesson:
                listener.note(prepared.lesson)
            shared = Supervision(
                prepared=prepared,
                folder=folder,
                journal=journal,
                listener=listener,
                signals=self.signals,
                prober=prober,
                memory=memory,
                timing=self.options.timing,
                stop_when_ready=self.options.stop_when_ready,
                observe_only=self.options.observe_only,
            )
            return self._session(shared).run()
        finally:
            reporting.close()

    def _refused(self, prepared: Prepared) -> Ending | None:
        code = prepared.verdict.exit_code(fail_on_warn=self.options.fail_on_warn)
        if code is Exit.DONE:
            return None
        reasons = "; ".join(f"{f.id}: {f.measured}" for f in prepared.verdict.refusals)
        return Ending("refused", code, reasons or "warnings, and --fail-on-warn")

    def _tripped(self, prepared: Prepared) -> Ending | None:
        """The end when too many boots of this plan failed lately, and nobody said that the cause is mended."""
        breaker, policy = _breaker(prepared), prepared.profile.restart
        if self.options.retry:
            breaker.forget()
            return None
        now = time.time()
        receipts = [listed.receipt for listed in ReceiptStore().list() if listed.receipt]
        failures = breaker.open_since(now, policy, killed_boots(receipts, prepared.plan.digest))
        if not failures:
            return None
        free_in = format_seconds(policy.window_s - (now - failures[-policy.budget - 1].at))
        reason = (
            f"{len(failures)} boots of this plan failed within {format_seconds(policy.window_s)}, the last one because"
            f" {failures[-1].sentence}. Mend that and start with --retry, or wait {free_in}"
        )
        return Ending("refused", Exit.NOT_READY, reason)

    def _session(self, shared: Supervision) -> Session:
        numbers = count(1)
        prepared = shared.prepared
        attempter = self.attempters[prepared.plan.runtime]
        return Session(
            attempt=lambda: attempter(shared, next(numbers)),
            preflight=self._refusal_now,
            policy=prepared.profile.restart,
            breaker=_breaker(prepared),
            journal=shared.journal,
            memory=shared.memory,
            clock=RealClock(),
            listener=shared.listener,
            signals=self.signals,
            needed_bytes=prepared.forecast.host_required_bytes,
            settle_s=shared.timing.settle_s,
        )

    def _refusal_now(self) -> str | None:
        """The reason of a refusal by a fresh preflight, or None."""
        refusals = prepare(self.request, env=self.env).verdict.refusals
        return "; ".join(f"{f.id}: {f.measured}" for f in refusals) or None


def _breaker(prepared: Prepared) -> Breaker:
    return Breaker(state_dir() / "breakers", prepared.plan.digest)


def _api_key(plan: LaunchPlan, env: Mapping[str, str]) -> str | None:
    """The key that our own probes must show: as the server gets it, by flag or by environment."""
    arguments = list(plan.argv)
    if "--api-key" in arguments[:-1]:
        return arguments[arguments.index("--api-key") + 1]
    joined = [a.partition("=")[2] for a in arguments if a.startswith("--api-key=")]
    return joined[0] if joined else plan.env.get("VLLM_API_KEY") or env.get("VLLM_API_KEY")


def _gpu_index(prepared: Prepared) -> int | None:
    """The GPU whose VRAM the receipt follows: the planned one, where the GPU has memory of its own."""
    if prepared.forecast.unified or prepared.profile.hardware.gpu is None:
        return None
    container = prepared.plan.container
    chosen = (container.gpus or "") if container else prepared.plan.env.get("CUDA_VISIBLE_DEVICES", "0")
    digits = chosen.removeprefix("device=").split(",")[0]
    return int(digits) if digits.isdigit() else 0
