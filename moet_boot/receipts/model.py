"""The receipt of one boot: what was asked, judged, started, measured, and how it ended."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from moet_boot.phases import Phase

SCHEMA = "moet-boot/receipt/v1"


class Part(BaseModel):
    """A part of a receipt; later versions may add keys, older readers leave them alone."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Versions(Part):
    moet_boot: str
    python: str
    kernel: str | None = None
    driver: str | None = None
    engine: str | None = None


class PlanRecord(Part):
    """The launch plan, secrets redacted. `digest` is that of the plan as it was started."""

    digest: str
    runtime: str
    argv: list[str] = []
    env: dict[str, str] = {}
    mounts: list[dict[str, Any]] = []
    url: str = ""
    container: dict[str, Any] | None = None
    """The options of the container runtime: image, pinned digest, name, GPUs, network and so on."""


class PhaseRecord(Part):
    """One phase of one attempt. Times in seconds since the start of the attempt.

    `peak_host_bytes`: how much host (or unified) memory the boot held at most: MemAvailable before the start
    minus its lowest value in the phase. `peak_gpu_bytes`: the same in VRAM, where NVML answers.
    """

    phase: Phase
    started_s: float
    ended_s: float | None = None
    lowest_available_bytes: int | None = None
    peak_host_bytes: int | None = None
    peak_gpu_bytes: int | None = None


class GuardAction(Part):
    """Something that the memory guard did or, observing only, would have done."""

    at_s: float
    action: str
    reason: str


class CurvePoint(Part):
    """One sample of the memory curve; bytes, percent, seconds since the start of the attempt."""

    t_s: float
    available_bytes: int
    free_bytes: int
    swap_used_bytes: int = 0
    psi_full_pct: float = 0.0


class Failure(Part):
    """Why a boot or a server ended: its class, one sentence with cause and remedy, the line that shows it."""

    kind: str
    sentence: str
    evidence: str = ""


class Attempt(Part):
    """One start of the server: the first, or a restart."""

    started_at: str
    available_before_bytes: int | None = None
    ready_after_s: float | None = None
    ended_after_s: float | None = None
    server_exit: str | None = None
    phases: list[PhaseRecord] = []
    guard_actions: list[GuardAction] = []
    failure: Failure | None = None
    curve: list[CurvePoint] = []
    lowest_available_bytes: int | None = None


Outcome = Literal["running", "refused", "stopped", "failed", "guard", "interrupted", "died"]


class Receipt(Part):
    """One boot of one profile on this machine."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    id: str
    created_at: str
    supervisor_pid: int
    supervisor_start: float | None = None
    """Start time of the supervising process in seconds since boot: tells a live one from a reused pid."""
    profile: str
    variant: str | None = None
    profile_digest: str = ""
    overrides: list[str] = []
    accepted_risks: list[str] = []
    versions: Versions
    plan: PlanRecord
    verdict: str = ""
    findings: list[dict[str, Any]] = []
    forecast: list[dict[str, Any]] = []
    snapshot: dict[str, Any] = {}
    artefacts: list[dict[str, Any]] = []
    attempts: list[Attempt] = []
    restarts: int = 0
    floors: dict[str, float] = {}
    first_answer: str | None = None
    outcome: Outcome = "running"
    outcome_reason: str = ""
    exit_code: int | None = None
    ended_at: str | None = None
