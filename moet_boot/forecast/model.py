"""What a forecast says: the memory of a boot by phase. All sizes in bytes."""

from dataclasses import dataclass
from typing import Literal

from moet_boot.phases import Phase

Pool = Literal["gpu", "host"]


@dataclass(frozen=True)
class Term:
    """A part of the memory of a boot, held from `first` to `last`, with where the number comes from."""

    name: str
    bytes: int
    pool: Pool
    first: Phase
    last: Phase
    source: str

    def held_in(self, phase: Phase) -> bool:
        """Whether this part is held in a phase."""
        return self.first.order <= phase.order <= self.last.order


@dataclass(frozen=True)
class PhasePeak:
    """What one phase needs at its worst moment. On unified memory `gpu_bytes` and `host_bytes` are one pool.

    `floor_bytes`: what must be left of the host (or unified) memory then, or the memory guard acts.
    """

    phase: Phase
    host_bytes: int
    gpu_bytes: int
    source: Literal["model", "measured"]
    floor_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Both pools together: what unified memory must hold."""
        return self.host_bytes + self.gpu_bytes


@dataclass(frozen=True)
class Staging:
    """What the 2-bit path moves through host RAM, in bytes (planes.md f.5).

    `known` is false when nobody looked at the store that the server would ask; then no layer counts as missed.
    `store` names that store, in words.
    """

    store: str
    layers: int
    missed: int
    staged_bytes: int
    known: bool
    problem: str = ""


@dataclass(frozen=True)
class KvRoom:
    """The KV cache: what it gets, and what one sequence of the full context takes of it, in bytes."""

    bytes: int
    one_sequence_bytes: int
    context_tokens: int


@dataclass(frozen=True)
class Forecast:
    """The forecast of one boot."""

    unified: bool
    terms: tuple[Term, ...]
    phases: tuple[PhasePeak, ...]
    host_required_bytes: int
    """Host memory that must be available before the start (on unified memory: everything, floor included)."""
    gpu_required_bytes: int
    """VRAM that must be free before the start; 0 on unified memory and without a GPU."""
    gpu_peak_bytes: int = 0
    """VRAM that the parts of the boot need together; less than required when the engine asks for a share."""
    kv: KvRoom | None = None
    staging: Staging | None = None
    """None when the plan has no 2-bit path, or when it is the image that decides."""
    problems: tuple[str, ...] = ()
    """Values of the plan that nobody can read; the forecast counts without them."""

    @property
    def steady_host_bytes(self) -> int:
        """Host memory that must be available if no layer is staged."""
        return self.host_required_bytes - (self.staging.staged_bytes if self.staging else 0)

    @property
    def cpu_side_bytes(self) -> int:
        """What the server's processes hold at most by ordinary allocations: the part that a cgroup counts."""
        return max(
            sum(term.bytes for term in self.terms if term.pool == "host" and term.held_in(phase)) for phase in Phase
        )

    @property
    def worst(self) -> PhasePeak:
        """The phase that leaves the least memory."""
        return max(self.phases, key=lambda peak: (peak.total_bytes + peak.floor_bytes, peak.phase.order))
