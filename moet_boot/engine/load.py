"""How busy a server is and whether it moves, from its own metrics: a busy server must not be taken for a hung one.

With one sequence at a time a question waits behind whatever is being generated, for many minutes perhaps; so tokens
are asked of an idle server only, and of a busy one that its counters move.
"""

import re
from dataclasses import dataclass

_RUNNING = ("vllm:num_requests_running", "vllm:num_requests_waiting")
_COUNTERS = (
    "vllm:prompt_tokens_total",
    "vllm:generation_tokens_total",
    "vllm:iteration_tokens_total_count",
    "vllm:request_success_total",
)
_SAMPLE = re.compile(r"^(?P<name>vllm:\w+)(?:\{[^}]*\})? (?P<value>[0-9.eE+-]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Load:
    """`requests`: running and waiting ones. `progress`: grows with every step that the engine makes."""

    requests: int
    progress: float

    @property
    def busy(self) -> bool:
        """Whether somebody waits for an answer."""
        return self.requests > 0


def parse_load(metrics: str) -> Load | None:
    """The load that a page of metrics shows, or None when it is no page of a vLLM server."""
    requests = progress = 0.0
    seen = False
    for sample in _SAMPLE.finditer(metrics):
        name = sample["name"]
        if name in _RUNNING:
            seen = True
            requests += _number(sample["value"])
        elif name in _COUNTERS:
            progress += _number(sample["value"])
    return Load(int(requests), progress) if seen else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
