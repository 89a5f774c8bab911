"""The name of a process as people know it."""

import os

from moet_boot.machine.tree import Tree

INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel (include/linux/proc_ns.h)."""


def full_name(name: str, argv: tuple[str, ...]) -> str:
    """The name without the kernel's cut at 15 characters, and with the module that an interpreter runs."""
    if name.startswith("python") and "-m" in argv[1:-1]:
        return f"{name} -m {argv[argv.index('-m') + 1]}"
    first = argv[0].split() if argv else []
    longer = os.path.basename(first[0]) if first else ""  # noqa: PTH119  (may be a title such as VLLM::EngineCore)
    return longer if longer.startswith(name) else name


def process_name(tree: Tree, pid: int) -> str | None:
    """The full name of a process, None if there is none that this user can see."""
    name = tree.text_or_none(f"/proc/{pid}/comm")
    if name is None:
        return None
    words = (tree.text_or_none(f"/proc/{pid}/cmdline") or "").split("\0")
    return full_name(name, tuple(word for word in words if word))


def may_be_alive(pid: int) -> bool:
    """False only if no process of the machine has this number; inside a container that cannot be told."""
    try:
        if os.readlink("/proc/self/ns/pid") != INITIAL_PID_NAMESPACE:  # noqa: PTH115  (no path)
            return True
        os.close(os.pidfd_open(pid))
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
