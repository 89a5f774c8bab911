"""Verifies the slots of a MOET2PF file of this project against its table."""

from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.moet2pf import Header, table_problems
from moet_boot.planes.moet2pf_read import read_table
from moet_boot.planes.progress import Progress
from moet_boot.planes.slot_body import SlotBody
from moet_boot.planes.slot_hash import SlotHash
from moet_boot.planes.verify_report import SlotFindings, VerifyOptions


def verify_own(reader: DirectReader, header: Header, options: VerifyOptions, on_progress: Progress) -> SlotFindings:
    """Check table and slots, going on to the end whatever is found.

    Raises ArtefactDamagedError when the table cannot be read.
    """
    layout, n_slots = header.layout, header.geometry.n_slots
    body = SlotBody(reader, header.geometry, layout.body_offset, options)
    reasons = body.unreadable()
    if reader.size < layout.body_offset:
        return SlotFindings(n_slots, bad=body.bad_slots(reasons), body_offset=body.start)
    entries, table_ok = read_table(reader, header)
    reasons = table_problems(layout, entries) | reasons
    damaged = "" if table_ok else ", which is damaged"

    def judge(found: SlotHash) -> str | None:
        right = found.digest == entries[found.slot].sha256
        return None if right else f"its sha256 differs from the table{damaged}"

    results = list(body.hashed([slot for slot in body.chosen() if slot not in reasons], on_progress))
    reasons |= body.judged(results, judge)
    return SlotFindings(
        n_slots,
        verified=sum(found.slot not in reasons for found in results),
        bad=body.bad_slots(reasons),
        body_offset=body.start,
        problems=() if table_ok else ("the table's checksum is wrong: the table is damaged",),
    )
