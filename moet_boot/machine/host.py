"""The system itself: kernel, distribution, boot options, uptime, clock."""

import ctypes
import os
import platform
import re
import struct
import time

from moet_boot.machine.facts.host import Clock, OsFacts
from moet_boot.machine.tree import Tree, UnreadError

KEPT_OPTIONS = re.compile(
    r"(quiet|splash|ro|rw|nomodeset|single|psi|kho|cma|mem|memmap|crashkernel|movablecore|kernelcore|swiotlb"
    r"|hugepages|hugepagesz|default_hugepagesz|transparent_hugepage|init_on_alloc|init_on_free|mitigations"
    r"|swapaccount|cgroup_\w+|systemd\.unified_cgroup_hierarchy|zswap\.\w+|numa\w*|isolcpus|nohz\w*|preempt"
    r"|(?:intel_|amd_|arm-smmu\.)?\w*iommu\w*|pci|pcie_\w+|nvidia[\w.-]*|nouveau[\w.-]*"
    r"|module_blacklist|modprobe\.blacklist)(=\S*)?"
)
"""Boot options that can explain a verdict. All others are left out: many carry UUIDs, addresses or names."""

_TIMEX_SIZE, _TIMEX_STATUS_OFFSET, _STA_UNSYNC = 256, 40, 0x0040
"""struct timex of a 64-bit Linux (adjtimex(2)): `status` follows an int and four longs."""


def read_arch() -> str:
    return platform.machine()


def read_cpus() -> int:
    """How many CPUs this process may run on."""
    return len(os.sched_getaffinity(0))


def read_kernel(tree: Tree) -> str:
    return tree.text("/proc/sys/kernel/osrelease")


def keep_options(cmdline: str) -> str:
    """The kernel command line without anything that could identify the machine."""
    return " ".join(option for option in cmdline.split() if KEPT_OPTIONS.fullmatch(option))


def read_cmdline(tree: Tree) -> str:
    return keep_options(tree.text("/proc/cmdline"))


def parse_os_release(text: str) -> dict[str, str]:
    """KEY=value lines, quotes removed (os-release(5))."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def read_os(tree: Tree) -> OsFacts:
    """Which distribution, and whether it runs below Windows."""
    text = tree.text_or_none("/etc/os-release") or tree.text_or_none("/usr/lib/os-release")
    release = parse_os_release(text or "")
    return OsFacts(id=release.get("ID"), version=release.get("VERSION_ID"), wsl=_is_wsl(tree))


def _is_wsl(tree: Tree) -> bool:
    kernel = tree.text_or_none("/proc/sys/kernel/osrelease") or ""
    signs = ("/proc/sys/fs/binfmt_misc/WSLInterop", "/dev/dxg")
    return "microsoft" in kernel.lower() or any(tree.path(sign).exists() for sign in signs)


def read_uptime(tree: Tree) -> float:
    """Seconds since the boot."""
    text = tree.text("/proc/uptime")
    try:
        return float(text.split()[0])
    except (ValueError, IndexError):
        raise UnreadError(f"/proc/uptime shows no seconds: {text[:40]!r}") from None


def read_clock() -> Clock:
    return Clock(ntp_synchronized=_kernel_clock_is_synchronized(), year=time.gmtime().tm_year)


def _kernel_clock_is_synchronized() -> bool | None:
    """What the kernel was told by whichever time service runs; None where it does not answer."""
    if struct.calcsize("P") != 8:  # noqa: PLR2004  (another layout of struct timex)
        return None
    timex = ctypes.create_string_buffer(_TIMEX_SIZE)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.adjtimex(timex) < 0:
        return None
    (status,) = struct.unpack_from("i", timex, _TIMEX_STATUS_OFFSET)
    return not status & _STA_UNSYNC
