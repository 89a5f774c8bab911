"""`report`: gather, scrub, pack, write."""

import json
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from moet_boot import __version__
from moet_boot.errors import ArtefactMissingError
from moet_boot.machine.anonymous import anonymous
from moet_boot.machine.record import record
from moet_boot.machine.snapshot import Snapshot
from moet_boot.receipts.store import ReceiptStore
from moet_boot.report.archive import Entry, packed, require_new, write_new
from moet_boot.report.gather import Gathered, Piece, gather_boot, gather_bug_logs, recent_boots
from moet_boot.report.identity import Identity, own_identity
from moet_boot.report.scrub import Scrubber, public_ids

SUMMARY = "report.json"


@dataclass(frozen=True)
class Report:
    """A report that was written. `receipt`: the boot that it is about, None where there was none."""

    path: Path
    size_bytes: int
    receipt: str | None
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]


def write_report(
    out: Path | None,
    receipt_id: str | None,
    *,
    env: Mapping[str, str],
    store: ReceiptStore | None = None,
    recorder: Callable[[], Snapshot] = record,
    identity: Identity | None = None,
    now: float | None = None,
) -> Report:
    """Write the archive about a boot (None: the last one, if there is one) and about this machine.

    `out` None makes a name from the time. Raises UsageError when it cannot be a new file, and ArtefactMissingError
    for a receipt that was asked for and is not there; whatever else is missing is a note.
    """
    now = time.time() if now is None else now
    target = require_new(out or Path(time.strftime("moet-boot-report-%Y%m%d-%H%M%S.tar.gz", time.localtime(now))))
    store = store or ReceiptStore()
    chosen = _chosen(store, receipt_id)
    found = Gathered()
    if chosen is None:
        found.notes.append("no boot is on record on this machine")
    else:
        gather_boot(found, store, chosen, env)
    gather_bug_logs(found)
    snapshot = anonymous(recorder())
    found.pieces.append(Piece("snapshot.json", "this machine now", snapshot.model_dump(mode="json", by_alias=True)))
    ids = frozenset(number for piece in found.pieces for number in public_ids(piece.content))
    scrubber = Scrubber(identity or own_identity(env), ids)
    summary = _summary(found, store, chosen, snapshot, now)
    entries = tuple(
        _entry(piece, scrubber) for piece in (Piece(SUMMARY, "versions, boots, notes", summary), *found.pieces)
    )
    content = packed(entries, now)
    write_new(target, content)
    return Report(target, len(content), chosen, entries, tuple(scrubber.text(note) for note in found.notes))


def _chosen(store: ReceiptStore, receipt_id: str | None) -> str | None:
    if receipt_id is not None:
        return store.find(receipt_id)
    try:
        return store.find("last")
    except ArtefactMissingError:
        return None


def _summary(
    found: Gathered, store: ReceiptStore, chosen: str | None, snapshot: Snapshot, now: float
) -> dict[str, Any]:
    return {
        "schema": "moet-boot/report-summary/v1",
        "created_at": datetime.fromtimestamp(now).astimezone().isoformat(timespec="seconds"),
        "versions": {
            "moet_boot": __version__,
            "python": sys.version.split()[0],
            "platform": platform.platform(),
            "driver": snapshot.nvml.driver if snapshot.nvml else None,
            "engine": snapshot.engine.version if snapshot.engine else None,
        },
        "receipt": chosen,
        "boots": recent_boots(store),
        "contents": {piece.name: piece.what for piece in found.pieces},
        "notes": found.notes,
    }


def _entry(piece: Piece, scrubber: Scrubber) -> Entry:
    if isinstance(piece.content, str):
        text = scrubber.text(piece.content)
    else:
        text = json.dumps(scrubber.value(piece.content), ensure_ascii=False, indent=1) + "\n"
    return Entry(piece.name, text.encode("utf-8", "replace"), piece.what)
