"""The most memory that this process ever had resident."""

from pathlib import Path


def peak_rss_bytes() -> int:
    """VmHWM of /proc/self/status; getrusage would count the parent's memory from before exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
