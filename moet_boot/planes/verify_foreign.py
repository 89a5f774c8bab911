"""Verifies the slots of a file of unknown header layout against a table discovered in it (planes.md h.4, h.5)."""

from collections.abc import Iterator

from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.discovery import Discovery, TableMode, anchor_slots, discover, place_permuted
from moet_boot.planes.geometry import ALIGN, Geometry
from moet_boot.planes.moet2pf import MIN_FILE_BYTES
from moet_boot.planes.moet2pf_read import read_bytes
from moet_boot.planes.progress import Progress
from moet_boot.planes.slot_body import SlotBody
from moet_boot.planes.slot_hash import SlotHash
from moet_boot.planes.verify_report import SlotFindings, VerifyOptions

# header and table of the published model take half a MiB; far more than that is a wrong geometry
MAX_REGION_BYTES = 64 << 20
NO_TABLE = "no digest table found before the body: damaged, or keyed in an unknown way"


def verify_foreign(
    reader: DirectReader, geometry: Geometry, options: VerifyOptions, on_progress: Progress
) -> SlotFindings:
    """Find the table, then check slots against it, going on to the end whatever is found."""
    start = reader.size - geometry.n_slots * geometry.slot_stride
    if not MIN_FILE_BYTES <= start <= MAX_REGION_BYTES or start % ALIGN:
        slots = f"{geometry.n_slots} slots of {geometry.slot_stride} bytes after a header and a table"
        return SlotFindings(geometry.n_slots, problems=(f"its size, {reader.size} bytes, does not fit {slots}",))
    body = SlotBody(reader, geometry, start, options)
    region = read_bytes(reader, 0, start)
    anchors = list(body.hashed(anchor_slots(geometry.n_slots), on_progress))
    discovery = discover(region, {found.slot: found.digest for found in anchors}, geometry.n_slots)
    if discovery.mode is TableMode.NONE:
        return SlotFindings(geometry.n_slots, problems=(NO_TABLE,), discovery=discovery, body_offset=start)
    return _verify_discovered(body, region, discovery, anchors, on_progress)


def _verify_discovered(
    body: SlotBody, region: bytes, discovery: Discovery, anchors: list[SlotHash], on_progress: Progress
) -> SlotFindings:
    reasons = body.unreadable()
    hashed = {found.slot for found in anchors}
    rest = [slot for slot in body.chosen() if slot not in reasons and slot not in hashed]
    results = [*anchors, *body.hashed(rest, on_progress)]

    def judge(found: SlotHash) -> str | None:
        known = found.digest is not None and discovery.holds(region, found.slot, found.digest)
        return None if known else "its sha256 is not in the file's table"

    reasons |= body.judged(results, judge)
    digests = {found.slot: found.digest for found in results if found.digest is not None}
    geometry = body.geometry
    placed = place_permuted(discovery, region, digests, geometry.n_layers, geometry.n_experts)
    return SlotFindings(
        geometry.n_slots,
        verified=sum(found.slot not in reasons for found in results),
        bad=body.bad_slots(reasons),
        notes=tuple(_limits(placed)),
        discovery=placed,
        body_offset=body.start,
    )


def _limits(discovery: Discovery) -> Iterator[str]:
    yield "slots were compared with digests in the same file; whether they fit a checkpoint was not checked"
    if discovery.mode is TableMode.PERMUTED:
        order = f"looks {discovery.order} and is" if discovery.order else "is"
        yield f"the table's order {order} unverified: swapped slots would not be noticed"
