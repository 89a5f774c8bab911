"""The typed profile: what hardware it is for, every setting with its reason, and the memory of a boot.

A profile is a TOML file (`profiles/NAME.toml`, schema `moet-boot/profile/v1`). All sizes are whole bytes
unless the name ends in `_gib`; GiB is 2**30 bytes. Unknown keys are refused.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from moet_boot.phases import Phase
from moet_boot.units import from_gib

SCHEMA = "moet-boot/profile/v1"

SettingValue = str | int | float | bool
Text = Annotated[str, Field(min_length=1)]
Size = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]
Port = Annotated[int, Field(ge=1, le=65535)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Revision = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]


class Strict(BaseModel):
    """A table of a profile: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Reasoned(Strict):
    """Anything a profile decides: why, on whose word, and what was measured."""

    why: Text
    source: Text
    measured: str | None = None


class Setting(Reasoned):
    """One environment variable or one server flag.

    `value`: what is passed; `true` is a bare flag, `null` (key absent) with `absent = true` means that the
    setting is left out on purpose and that the reason says why.
    `layer`: which layer of the precedence set it (profile, variant, config, environment, flag).
    `overrides`: the losing values, `layer=value`, nearest first. The resolver fills both, files do not.
    """

    value: SettingValue | None = None
    absent: bool = False
    layer: str = "profile"
    overrides: tuple[str, ...] = ()
    replaced_why: str | None = None
    """The profile's reason for its own value, where a layer above replaced it; the resolver's too."""


class MemoryKind(StrEnum):
    """How the machine's memory is laid out."""

    UNIFIED = "unified"
    DISCRETE = "discrete"
    HOST = "host"


class GpuRequirement(Reasoned):
    """Which GPU the profile is for. `names`: any of these occurs in the NVML name."""

    names: tuple[str, ...]
    compute_capability: str
    count: Annotated[int, Field(ge=1)] = 1
    memory_bytes: Size | None = None
    """VRAM that NVML must report at least; none on unified memory."""
    max_used_at_start_bytes: Size = from_gib(0.5)
    """VRAM that may already be taken when the boot starts (display, driver)."""
    min_driver_branch: Size | None = None
    """Smallest major number of the driver, such as 580."""


class Hardware(Reasoned):
    """What the machine must be."""

    memory: MemoryKind
    architectures: tuple[str, ...]
    gpu: GpuRequirement | None = None
    min_host_memory_bytes: Size | None = None
    wsl: Literal["refuse", "warn", "allow"] = "allow"


class ArtefactKind(StrEnum):
    """What an artefact is."""

    CHECKPOINT = "checkpoint"
    PLANE_FILE = "plane_file"
    PLANES_CACHE = "planes_cache"
    PACK_STORE = "pack_store"


class Artefact(Reasoned):
    """A file or folder that the boot needs."""

    kind: ArtefactKind
    path: Text
    """Where it is on the host unless the user says otherwise; `~` is expanded."""
    repo: str | None = None
    revision: Revision | None = None
    file: str | None = None
    size_bytes: Size | None = None
    shards: Size | None = None
    sha256: Sha256 | None = None
    optional: bool = False


class Mount(Reasoned):
    """An artefact as the container sees it."""

    artefact: Text
    target: Text
    read_only: bool = True


class Container(Reasoned):
    """How the container is made. Values that weaken isolation carry their reason in `reasons`."""

    image: Text
    image_arch: Literal["amd64", "arm64"]
    gpus: str = "all"
    """`all` or `device=N`."""
    network: Literal["host", "bridge"] = "host"
    ipc: Literal["host", "private"] = "host"
    shm_bytes: Size | None = None
    entrypoint: tuple[str, ...] | None = None
    """None keeps the image's own entrypoint and command."""
    pass_arguments: bool = True
    """Whether the flags are passed as the container's command; a guarded image is started with none."""
    reasons: dict[str, str] = {}


class Engine(Reasoned):
    """The server that is started."""

    runtime: Literal["process", "docker"]
    command: tuple[str, ...] = ()
    """The argv before model and flags; empty for a container whose image decides."""
    model: Text
    """The model string exactly as the server sees it: part of v1 identities."""
    served_name: Text
    host: str = "127.0.0.1"
    port: Port
    formats: Literal["v1", "v2"] | None = None
    """Which generation of pack and cache formats the server reads; None if it reads neither."""
    vllm_version: str | None = None


class MemoryTerm(Reasoned):
    """A part of the memory of a boot that is held from the start of `first` to the end of `last`."""

    gib: Amount
    pool: Literal["gpu", "host"]
    first: Phase
    last: Phase = Phase.SERVING


class KvCache(Reasoned):
    """The KV cache: so many tokens, so many bytes each; or the rest of the budget that utilization gives."""

    bytes_per_token: Amount
    sizing: Literal["tokens", "utilization", "fixed"]
    """`tokens`: one context; `utilization`: what --gpu-memory-utilization leaves; `fixed`: `fixed_gib`."""
    fixed_gib: Amount | None = None


class MemoryBudget(Reasoned):
    """What a boot takes, phase by phase, and what must be available before it starts.

    On unified memory `gpu` and `host` terms come out of one pool.
    """

    terms: dict[str, MemoryTerm]
    kv_cache: KvCache | None = None
    minimum_available_gib: Amount | None = None
    """A published minimum of available memory (MemAvailable on unified memory)."""
    comfortable_available_gib: Amount | None = None
    """From here up nothing is said; between minimum and this, a warning."""
    host_headroom_gib: Amount = 2.0
    """Host RAM to keep free beyond the terms on a machine whose GPU has its own memory."""
    graph_estimate_gib: Amount = 0.0
    """VRAM that the engine's own graph estimate reserves while it is switched on."""


class GuardFloors(Reasoned):
    """When the memory guard acts (field notes: unified memory, policy 1-5)."""

    hard_floor_gib: Amount
    """MemAvailable below this before readiness: kill on one sample."""
    serving_floor_gib: Amount
    """MemAvailable below this after readiness for `serving_seconds`: kill."""
    serving_seconds: Amount = 3.0
    serving_hard_floor_gib: Amount = 1.0
    """After readiness: kill on one sample."""
    projection_seconds: Amount = 1.0
    """Before readiness: kill if the present rate reaches the hard floor within this time ..."""
    projection_ceiling_gib: Amount = 16.0
    """... and MemAvailable is already below this ..."""
    projection_rate_gib_s: Amount = 2.0
    """... and falls at least this fast."""
    relief: bool = False
    relief_free_gib: Amount = 8.0
    relief_cache_gib: Amount = 2.0
    relief_interval_s: Amount = 1.0
    stall_seconds: Amount = 15.0
    stall_psi_full: Amount = 35.0
    stall_swap_growth_gib: Amount = 1.0
    stall_flat_gib: Amount = 0.5
    phase_floors_gib: dict[Phase, Amount] = {}


class Deadline(Reasoned):
    """How long one phase may take before the boot counts as hung."""

    seconds: Annotated[float, Field(gt=0)]


class Restart(Reasoned):
    """Restarts after a failure that may pass by itself."""

    budget: Size = 2
    window_s: Amount = 3600.0
    backoff_s: Amount = 10.0
    backoff_max_s: Amount = 300.0


class Acceptance(Reasoned):
    """A figure that a healthy boot of this profile shows."""

    value: float | str
    unit: str


class Sampling(Setting):
    """Advice to clients about one sampling parameter: send `value`, or leave it out where it is absent."""

    banned: tuple[float, ...] = ()


class Curve(Reasoned):
    """A published figure at several points: `x` counts `x_unit`, `y` counts `y_unit`, x rising."""

    x_unit: Text
    y_unit: Text
    points: tuple[tuple[float, float], ...] = Field(min_length=1)


class Chosen(Strict):
    """Which layer set a part of the profile that is no setting (such as `engine.port`), and who lost."""

    layer: str
    overrides: tuple[str, ...] = ()


class Profile(Strict):
    """A whole profile, its variant (if any) already applied."""

    schema_: Literal["moet-boot/profile/v1"] = Field(alias="schema")
    name: Text
    title: Text
    summary: Text
    extends: str | None = None
    variant: str | None = None
    """Which variant was applied; files do not set it."""
    hardware: Hardware
    engine: Engine
    env: dict[str, Setting] = {}
    flags: dict[str, Setting] = {}
    artefacts: dict[str, Artefact] = {}
    mounts: dict[str, Mount] = {}
    container: Container | None = None
    memory: MemoryBudget
    guard: GuardFloors
    deadlines: dict[Phase, Deadline]
    restart: Restart
    acceptance: dict[str, Acceptance] = {}
    sampling: dict[str, Sampling] = {}
    curves: dict[str, Curve] = {}
    variants: dict[str, str] = {}
    """Variants and their one-line summaries; their settings live in the file's `variant.NAME` tables."""
    chosen: dict[str, Chosen] = {}
    """Dotted key of a part of the profile -> which layer moved it; files do not set it."""

    def flag(self, name: str) -> SettingValue | None:
        """The value of a flag (`--name`), or None when it is unset or absent on purpose."""
        setting = self.flags.get(name)
        return None if setting is None or setting.absent else setting.value

    def env_values(self) -> dict[str, str]:
        """The environment that the server gets from the profile, as strings."""
        return {name: as_text(s.value) for name, s in self.env.items() if not s.absent and s.value is not None}


def as_text(value: SettingValue) -> str:
    """A setting as the server reads it: booleans are 1 and 0, whole floats have no tail."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
