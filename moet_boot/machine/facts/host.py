"""The machine around memory and GPU: system, processes, ports, logs."""

from pydantic import Field

from moet_boot.machine.facts.group import Count, Group


class OsFacts(Group):
    id: str | None = None
    version: str | None = None
    wsl: bool = False


class Clock(Group):
    ntp_synchronized: bool | None = None
    year: int | None = None


class LastBoot(Group):
    clean_shutdown: bool | None = None


class Port(Group):
    """A TCP port that something listens on. `address`: a wildcard, a loopback address, or the word `specific`."""

    port: int = Field(ge=0, le=65_535)
    process: str | None = None
    pid: int | None = None
    container: str | None = None
    address: str | None = None


class ProcessFacts(Group):
    """A process that matters to a boot; `args` are its options and their numbers, nothing else."""

    name: str
    pid: int | None = None
    ppid: int | None = None
    args: str | None = None
    rss_bytes: Count | None = None
    oom_score_adj: int | None = None


class KernelLog(Group):
    """What the kernel's ring buffer still holds since the boot."""

    nv_err_no_memory_since_boot: Count | None = None
    xid: list[int | str] = Field(default_factory=list)
    oom_kill_since_boot: Count | None = None
    rm_init_adapter_failed: bool | int | None = None


class EngineFacts(Group):
    """The server program of a process runtime: where it is, what it says it is."""

    command: str
    path: str | None = None
    executable: bool = False
    version: str | None = None
    error: str | None = None
