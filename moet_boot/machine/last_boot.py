"""/var/log/wtmp: whether the boot before this one ended with a shutdown."""

import platform
import struct
from collections.abc import Iterator
from typing import NamedTuple

from moet_boot.machine.facts.host import LastBoot
from moet_boot.machine.tree import Tree, UnreadError
from moet_boot.units import MIB

RECORD_BYTES = {"x86_64": 384, "aarch64": 400}
"""sizeof(struct utmp) of glibc: on aarch64 its session and time fields have 64 bits (utmp(5))."""

RUN_LVL, BOOT_TIME, LAST_TYPE = 1, 2, 9
_HEAD = struct.Struct("<h2xi32s4s32s")
TAIL_BYTES = 1 * MIB


class Record(NamedTuple):
    """The two fields of a wtmp record that tell boots and shutdowns."""

    kind: int
    user: str


def parse_wtmp(content: bytes, record_bytes: int) -> Iterator[Record]:
    """The records in their order; raises UnreadError if the file is not made of such records."""
    if len(content) % record_bytes:
        raise UnreadError(f"wtmp is not made of records of {record_bytes} bytes")
    for offset in range(0, len(content), record_bytes):
        kind, _, _, _, user = _HEAD.unpack_from(content, offset)
        if not 0 <= kind <= LAST_TYPE:
            raise UnreadError(f"wtmp has a record of the unknown type {kind}")
        yield Record(kind, user.split(b"\0", 1)[0].decode("ascii", "replace"))


def ended_cleanly(records: list[Record]) -> bool | None:
    """Whether a shutdown stands between the last two boots; None if only one boot is recorded."""
    boots = [index for index, record in enumerate(records) if record.kind == BOOT_TIME]
    if not boots:
        return None
    previous = boots[-2] if len(boots) > 1 else 0
    between = records[previous : boots[-1]]
    if any(record.kind == RUN_LVL and record.user == "shutdown" for record in between):
        return True
    return False if len(boots) > 1 else None


def read_last_boot(tree: Tree) -> LastBoot:
    """Raises UnreadError where the log does not tell (containers, systems without wtmp)."""
    record_bytes = RECORD_BYTES.get(platform.machine())
    if record_bytes is None:
        raise UnreadError(f"the layout of wtmp on {platform.machine()} is not known")
    with tree.path("/var/log/wtmp").open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - TAIL_BYTES // record_bytes * record_bytes, 0))
        clean = ended_cleanly(list(parse_wtmp(stream.read(TAIL_BYTES), record_bytes)))
    if clean is None:
        raise UnreadError("wtmp does not reach back to the boot before this one")
    return LastBoot(clean_shutdown=clean)
