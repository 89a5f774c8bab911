"""Boot phases read off the server's log: vLLM 0.24 to 0.32 on CPU and GPU, and vLLM-Moet's own lines.

The log is watched as bytes, a chunk at a time: a chunk is searched for a handful of fixed texts (memmem, far
faster than the log can grow) and never split into lines, so a flood, a line of 100 MiB, broken UTF-8 and
progress bars that rewrite their line all cost the same. Texts: engine.md section 3, planes.md f.3 and g.3,
and the wording of the 0.32 source for what only a GPU prints.
"""

import re
from dataclasses import dataclass, replace

from moet_boot.phases import Phase

MARKERS: tuple[tuple[bytes, Phase], ...] = (
    (b"Initializing a V1 LLM engine", Phase.STARTING),
    (b"Starting to load model", Phase.LOADING_WEIGHTS),
    (b"Loading model from scratch", Phase.LOADING_WEIGHTS),
    (b"checkpoint shards:", Phase.LOADING_WEIGHTS),
    (b"loading shards:", Phase.LOADING_WEIGHTS),
    (b"LOADER-SKIP armed", Phase.LOADING_WEIGHTS),
    (b"Loading weights took", Phase.LOADING_WEIGHTS),
    (b"planes from cache", Phase.PLANES),
    (b"requant SKIPPED", Phase.PLANES),
    (b"planes built", Phase.PLANES),
    (b"planes HOST-staged", Phase.PLANES),
    (b"Model loading took", Phase.PROFILING),
    (b"Dynamo bytecode transform time", Phase.PROFILING),
    # On a CPU the compiling run measures memory: it comes before the KV cache (seen on 0.32.0).
    (b"Warming up model for the compilation", Phase.PROFILING),
    (b"Profiling CUDA graph memory", Phase.PROFILING),
    (b"Available KV cache memory", Phase.KV_CACHE),
    (b"KV cache size:", Phase.KV_CACHE),
    (b"skipped memory profiling", Phase.KV_CACHE),
    # Kernels are tuned before the capture, so their lines cannot be the warm-up that comes after it.
    (b"Autotuning process starts", Phase.GRAPH_CAPTURE),
    (b"Capturing CUDA graph", Phase.GRAPH_CAPTURE),
    (b"Graph capturing finished", Phase.WARM_UP),
    (b"init engine (profile, create kv cache, warmup model) took", Phase.WARM_UP),
    (b"Starting vLLM server on", Phase.WARM_UP),
    (b"Starting vLLM API server", Phase.WARM_UP),
    (b"Application startup complete", Phase.WARM_UP),
)
"""Text -> phase that has begun when it is seen. No line says `serving`: only a generated token does."""

_ORDERED = tuple((marker, phase.order, phase) for marker, phase in MARKERS)

LISTENING = b"Application startup complete"

PLANE_MARKERS: dict[str, tuple[bytes, ...]] = {
    "skip_armed": (b"LOADER-SKIP armed",),
    "from_cache": (b"planes from cache",),
    "from_pack": (b"requant SKIPPED",),
    "built": (b"planes built",),
    "host_staged": (b"planes HOST-staged",),
    "rejected": (
        b"identity/shape mismatch",
        b"incomplete/stale pack generation",
        b"planes cache: MISS",
        b"meta mismatch",
        b"metadata mismatch",
    ),
}

_SHARDS = re.compile(rb"shards:\s+\d+% Completed \| (\d+)/(\d+)")
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
# Longer than any text above and than a whole progress bar up to its "n/m".
_OVERLAP = 160


@dataclass(frozen=True)
class Progress:
    """`done` of `total` parts of the present phase (`shards` or `layers`); `total` None where unknown."""

    what: str
    done: int
    total: int | None = None


@dataclass(frozen=True)
class PlaneCounts:
    """How many layers the log has reported so far, by where their planes came from.

    `built` counts every resident layer, also those `from_cache`; `rejected` counts mismatches and misses.
    """

    skip_armed: int = 0
    from_cache: int = 0
    from_pack: int = 0
    built: int = 0
    host_staged: int = 0
    rejected: int = 0

    @property
    def layers(self) -> int:
        """Layers that are finished."""
        return max(self.built, self.from_cache) + self.from_pack + self.host_staged


def classify(line: str | bytes) -> Phase | None:
    """The phase that this line shows to have begun, or None for any other line."""
    text = _plain(line.encode("utf-8", "replace") if isinstance(line, str) else line)
    return max((phase for marker, phase in MARKERS if marker in text), key=lambda p: p.order, default=None)


def _plain(text: bytes) -> bytes:
    """The text without terminal colours."""
    return _ANSI.sub(b"", text) if b"\x1b" in text else text


class PhaseTracker:
    """Follows one boot. Phases never go back; feed it the log as it comes, cut anywhere."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self.shards: Progress | None = None
        self.planes = PlaneCounts()
        self.listening = False
        """Whether the server says that it accepts connections: the time to start probing."""
        self._overlap = b""

    @property
    def progress(self) -> Progress | None:
        """How far the present phase has come, where the log tells."""
        if self.phase is Phase.LOADING_WEIGHTS:
            return self.shards
        if self.phase is Phase.PLANES:
            return Progress("layers", self.planes.layers)
        return None

    def feed(self, chunk: bytes) -> list[Phase]:
        """Take the next piece of the log; returns the phases that it entered, in their order."""
        window = _plain(self._overlap + chunk)
        entered = self._advance(window)
        if not self.listening:
            self.listening = LISTENING in window
        if self.phase.order <= Phase.PLANES.order or entered:
            self._count(window)
        self._overlap = window[-_OVERLAP:]
        return entered

    def serving(self) -> None:
        """The readiness probe got its token: the last phase, which no log line can announce."""
        self.phase = Phase.SERVING

    def _advance(self, window: bytes) -> list[Phase]:
        reached = self.phase.order
        found = [
            (at, order, phase)
            for marker, order, phase in _ORDERED
            if order > reached and (at := window.find(marker)) >= 0
        ]
        entered = []
        for _, order, phase in sorted(found):
            if order > reached:
                reached = order
                self.phase = phase
                entered.append(phase)
        return entered

    def _count(self, window: bytes) -> None:
        for name, markers in PLANE_MARKERS.items():
            for marker in markers:
                if marker in window:
                    fresh = window.count(marker) - self._overlap.count(marker)
                    self.planes = replace(self.planes, **{name: getattr(self.planes, name) + fresh})
        last = window.rfind(b"shards:")
        if last >= 0 and (bar := _SHARDS.match(window, last)):
            self.shards = Progress("shards", int(bar[1]), int(bar[2]))
