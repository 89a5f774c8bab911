"""The processes that matter to a boot: other servers, their orphans, user-space OOM killers, large holders."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from moet_boot.machine.facts.host import ProcessFacts
from moet_boot.machine.process_names import full_name
from moet_boot.units import GIB

OOM_KILLERS = frozenset(
    {"earlyoom", "systemd-oomd", "oomd", "nohang", "nohang-desktop", "bustd", "dgx-anti-oom", "low-memory-monitor"}
)
"""Programs that kill by memory on their own account (field notes on unified memory, section 6)."""

SERVERS = re.compile(
    r"VLLM::|vllm\b|sglang|llama-server|ollama|tritonserver|trtllm|text-generation|lmdeploy|moet-boot|ray::|tgi\b"
)
MODULES = re.compile(r"(vllm|sglang|lmdeploy|moet_boot(?!\.machine)|tensorrt_llm|mlc_llm|llama_cpp)(\.|$)")
"""Modules that are servers when an interpreter runs them; `moet_boot.machine` is a reader of this very snapshot."""

LARGE_BYTES = 4 * GIB

_NUMBER = re.compile(r"\d+(?:\.\d+)?%?(?:,\d+(?:\.\d+)?%?)?")
_SECRET = re.compile(r"key|token|secret|pass|auth|host|addr", re.IGNORECASE)


@dataclass(frozen=True)
class Seen:
    """A process as the system lists it; `argv` is empty for kernel threads and for other users' processes."""

    pid: int
    ppid: int
    name: str
    argv: tuple[str, ...]
    rss_bytes: int


def matters(seen: Seen) -> bool:
    """Whether a check may want to know of this process."""
    name = full_name(seen.name, seen.argv)
    _, _, module = name.partition(" -m ")
    return (
        name in OOM_KILLERS
        or bool(SERVERS.match(name) or MODULES.match(module))
        or (name == "sshd" and seen.ppid == 1)
        or seen.rss_bytes >= LARGE_BYTES
    )


def keep_options(argv: tuple[str, ...]) -> str | None:
    """The options of a command line and their numbers; no paths, names, addresses or secrets."""
    kept: list[str] = []
    for word in argv[1:]:
        if word.startswith("-"):
            option, _, value = word.partition("=")
            kept.append(word if _is_plain(option, value) else option)
        elif kept and kept[-1].startswith("-") and "=" not in kept[-1] and _is_plain(kept[-1], word):
            kept.append(word)
    return " ".join(kept) or None


def _is_plain(option: str, value: str) -> bool:
    return bool(_NUMBER.fullmatch(value)) and not _SECRET.search(option)


def pick_processes(
    listed: Iterable[Seen], *, ours: frozenset[int], oom_score_adj: Callable[[int], int | None]
) -> list[ProcessFacts]:
    """The processes that matter, `ours` (moet-boot and what started it) left out."""
    return [
        ProcessFacts(
            name=full_name(seen.name, seen.argv),
            pid=seen.pid,
            ppid=seen.ppid,
            args=keep_options(seen.argv),
            rss_bytes=seen.rss_bytes,
            oom_score_adj=oom_score_adj(seen.pid),
        )
        for seen in listed
        if seen.pid not in ours and matters(seen)
    ]


def list_processes() -> Iterator[Seen]:
    """All processes that this user can see; those that end meanwhile are left out."""
    for process in psutil.process_iter():
        with suppress(psutil.Error), process.oneshot():
            yield Seen(
                pid=process.pid,
                ppid=process.ppid(),
                name=_printable(process.name()),
                argv=_argv(process),
                rss_bytes=process.memory_info().rss,
            )


def read_processes() -> list[ProcessFacts]:
    this = psutil.Process()
    ours = frozenset({this.pid, *(parent.pid for parent in this.parents())})
    return pick_processes(list_processes(), ours=ours, oom_score_adj=_oom_score_adj)


def _argv(process: psutil.Process) -> tuple[str, ...]:
    try:
        return tuple(_printable(word) for word in process.cmdline())
    except psutil.Error:
        return ()


def _printable(text: str) -> str:
    """A command line may hold any bytes; JSON holds text."""
    return text.encode("utf-8", "replace").decode()


def _oom_score_adj(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
