"""One start of the real engine on the bare process runtime, without supervisor and guard."""

import time
from collections.abc import Callable
from pathlib import Path

import httpx2

from moet_boot.engine.phases import PhaseTracker
from moet_boot.engine.readiness import ProbeResult, ReadinessProbe
from moet_boot.launch.command import Command
from moet_boot.launch.log_file import LogFile
from moet_boot.launch.process import ServerProcess
from moet_boot.phases import Phase

BOOT_S = 240.0
NAME = "tiny-moe"
FLAGS = ("--served-model-name", NAME, "--dtype", "bfloat16", "--max-model-len", "256", "--enforce-eager")
QUIET = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}


def command(program: Path, model: Path, port: int, cache: Path, *flags: str) -> Command:
    """`vllm serve` with the demo's settings; `flags` come last and win."""
    argv = (str(program), "serve", str(model), "--host", "127.0.0.1", "--port", str(port), *FLAGS, *flags)
    return Command(argv, {**QUIET, "VLLM_CACHE_ROOT": str(cache)}, port=port)


class RealServer(ServerProcess):
    """One start of the real engine, with the log followed as the supervisor does."""

    def __init__(self, command: Command, log: Path) -> None:
        super().__init__(command, LogFile(log), oom_score_adj=None)
        self.tracker = PhaseTracker()
        self.entered: list[Phase] = []

    def follow(self) -> None:
        while chunk := self.new_output():
            self.entered += self.tracker.feed(chunk)

    def wait_until(self, condition: Callable[[], object], timeout_s: float = BOOT_S) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, self.log_tail().decode(errors="replace")[-3000:]
            time.sleep(0.1)
            self.follow()

    def wait_for_phase(self, phase: Phase) -> None:
        self.wait_until(lambda: phase in self.entered or self.exited())

    def health(self) -> ProbeResult:
        with httpx2.Client(base_url=f"http://127.0.0.1:{self.command.port}", trust_env=False) as client:
            return ReadinessProbe(client, NAME).health()

    def probe(self) -> ProbeResult:
        with httpx2.Client(base_url=f"http://127.0.0.1:{self.command.port}", trust_env=False) as client:
            return ReadinessProbe(client, NAME).probe()

    def wait_until_ready(self) -> None:
        self.wait_until(lambda: self.exited() or self.tracker.listening)
        self.wait_until(lambda: self.exited() or self.probe().ready)
        assert self.exited() is None
