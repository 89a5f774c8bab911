"""/dev/kmsg: driver errors and kills that the kernel's ring buffer still holds."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from moet_boot.machine.facts.host import KernelLog
from moet_boot.machine.tree import Tree, UnreadError
from moet_boot.units import KIB

RECORD_BYTES = 8 * KIB
"""A reader must offer room for a whole record (kernel: Documentation/ABI/testing/dev-kmsg)."""

MAX_RECORDS = 500_000
_XID = re.compile(r"NVRM: Xid \([^)]*\): (\d+)")
_OOM_KILL = re.compile(r"(?<!cgroup )out of memory: Kill(ed)? process", re.IGNORECASE)
"""A kill inside a control group says that a limit was met, not that the machine had no memory left."""


def parse_kernel_log(records: Iterable[str]) -> KernelLog:
    """Counts over records `priority,sequence,time,flags;message`; Xid numbers in their order, each once."""
    messages = [record.split(";", 1)[-1].split("\n", 1)[0] for record in records]
    xids = (found for message in messages for found in _XID.findall(message))
    return KernelLog(
        nv_err_no_memory_since_boot=sum("NV_ERR_NO_MEMORY" in message for message in messages),
        xid=list(dict.fromkeys(int(xid) for xid in xids)),
        oom_kill_since_boot=sum(bool(_OOM_KILL.search(message)) for message in messages),
        rm_init_adapter_failed=sum("RmInitAdapter failed" in message for message in messages),
    )


def read_kernel_log(tree: Tree) -> KernelLog:
    """Raises UnreadError where the log is kept from this user, or does not exist (containers)."""
    with closing(_open(tree.path("/dev/kmsg"))) as stream:
        return parse_kernel_log(_records(stream))


def _open(path: Path) -> BinaryIO:
    try:
        return open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)  # noqa: PTH123  (a descriptor)
    except PermissionError:
        raise UnreadError("the kernel log is kept from this user (kernel.dmesg_restrict)") from None


def _records(stream: BinaryIO) -> Iterator[str]:
    """One read is one record; the end of the buffer answers EAGAIN, a record overwritten meanwhile EPIPE."""
    for _ in range(MAX_RECORDS):
        try:
            record = stream.read(RECORD_BYTES)
        except BrokenPipeError:
            continue
        if not record:
            return
        yield from record.decode("utf-8", "replace").splitlines()
