"""What goes into a report, as it was found: nothing is scrubbed here."""

import csv
import io
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any

from moet_boot.errors import MoetBootError
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import read_records
from moet_boot.profile.model import Setting
from moet_boot.profile.resolve import resolve_profile
from moet_boot.profile.toml_text import to_toml
from moet_boot.receipts.model import Receipt
from moet_boot.receipts.redact import REDACTED, is_secret_name
from moet_boot.receipts.store import FILE, ReceiptStore
from moet_boot.report.excerpt import read_excerpt
from moet_boot.supervise.afterwards import outcome_now, truthful
from moet_boot.supervise.opening import profile_digest

BUG_LOGS = 3
RECENT_BOOTS = 20


@dataclass(frozen=True)
class Piece:
    """A file of the report: a text, or a JSON value. `what` says in a few words what it is."""

    name: str
    what: str
    content: Any


@dataclass
class Gathered:
    """All pieces, and notes on what is missing and why."""

    pieces: list[Piece] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, what: str, read: Callable[[], Any]) -> None:
        """Add what `read` gives; a failure is a note."""
        try:
            self.pieces.append(Piece(name, what, read()))
        except MoetBootError as failure:
            self.notes.append(f"{name}: {failure.what}")
        except (OSError, EOFError, zlib.error) as failure:
            self.notes.append(f"{name}: it cannot be read: {failure}")


def gather_boot(found: Gathered, store: ReceiptStore, receipt_id: str, env: Mapping[str, str]) -> None:
    """Receipt, profile, logs, guard events and samples of one boot."""
    folder = store.folder(receipt_id)
    try:
        receipt = truthful(store.read(receipt_id), folder)
    except MoetBootError as failure:
        found.notes.append(failure.what)
        found.add(FILE, "the damaged receipt", lambda: read_excerpt(folder / FILE))
    else:
        found.add(FILE, "what was asked, judged and measured", lambda: receipt.model_dump(mode="json", by_alias=True))
        found.add("profile.toml", "the profile of the boot", lambda: _profile(found, receipt, env))
    for what, pattern in (("the server's log", "server-*.log"), ("what the guard did", "guard-*.ndjson")):
        for path in sorted(folder.glob(pattern)):
            found.add(path.name, what, lambda path=path: read_excerpt(path))  # type: ignore[misc]
    for path in sorted(folder.glob("samples-*.spool")):
        name = f"{path.stem}.csv"
        found.add(name, "the memory as the guard saw it, in bytes", lambda path=path: samples_csv(path))  # type: ignore[misc]


def gather_bug_logs(found: Gathered, folder: Path | None = None) -> None:
    """The newest logs that moet-boot wrote about bugs of its own."""
    logs = list((folder or Path(tempfile.gettempdir())).glob("moet-boot-bug-*/bug-*.log"))
    for number, path in enumerate(sorted(logs, key=lambda log: log.name)[-BUG_LOGS:], 1):
        found.add(f"bug-{number}.log", "a bug of moet-boot", lambda path=path: read_excerpt(path))  # type: ignore[misc]


def recent_boots(store: ReceiptStore) -> list[dict[str, Any]]:
    """One line for each of the last boots."""
    return [
        {"id": entry.id, "outcome": outcome_now(entry.receipt), "exit_code": entry.receipt.exit_code}
        if entry.receipt
        else {"id": entry.id, "outcome": "unreadable", "exit_code": None}
        for entry in store.list()[-RECENT_BOOTS:]
    ]


def samples_csv(path: Path) -> str:
    """A spool of the guard as a table; an empty cell was not measured. Raises the artefact errors."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow([*(column.name for column in fields(Sample)), "phase", "action"])
    for sample, phase, action in read_records(path):
        rows.writerow([*astuple(sample), phase and phase.value, action.value])
    return table.getvalue()


def _profile(found: Gathered, receipt: Receipt, env: Mapping[str, str]) -> str:
    """The profile as it resolves now; the receipt has only its digest."""
    sets = [text for text in receipt.overrides if REDACTED not in text]
    profile = resolve_profile(receipt.profile, receipt.variant, sets, env=env)
    if profile_digest(profile) != receipt.profile_digest:
        found.notes.append("profile.toml: it is not, or not any more, word for word the one of the boot")
    hidden = {"env": _without_secrets(profile.env), "flags": _without_secrets(profile.flags)}
    return to_toml(profile.model_copy(update=hidden))


def _without_secrets(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    return {
        name: setting.model_copy(update={"value": REDACTED}) if is_secret_name(name) and setting.value else setting
        for name, setting in settings.items()
    }
