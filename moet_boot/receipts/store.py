"""Receipts on disk: one folder a boot, written whole or not at all."""

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError, UsageError
from moet_boot.places import made, state_dir
from moet_boot.receipts.model import Receipt

FILE = "receipt.json"
_ID = re.compile(r"^[0-9]{8}-[0-9]{6}-[a-z0-9-]+$")


@dataclass(frozen=True)
class Listed:
    """A receipt found on disk; `receipt` is None when the file cannot be read, `problem` says why."""

    id: str
    folder: Path
    receipt: Receipt | None
    problem: str = ""


class ReceiptStore:
    """The receipts of this machine, below one folder."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or state_dir() / "receipts"

    def create_folder(self, profile: str, *, now: float | None = None) -> tuple[str, Path]:
        """A new id and its empty folder. Ids sort by time and are unique."""
        made(self.root)
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
        name = re.sub(r"[^a-z0-9]+", "-", profile.lower()).strip("-") or "profile"
        for attempt in range(1, 1000):
            receipt_id = f"{stamp}-{name}" + (f"-{attempt}" if attempt > 1 else "")
            folder = self.root / receipt_id
            try:
                folder.mkdir(mode=0o755)
            except FileExistsError:
                continue
            return receipt_id, folder
        raise UsageError(f"{self.root} already has a thousand receipts of {stamp}", fix="remove old ones")

    def folder(self, receipt_id: str) -> Path:
        """The folder of a receipt."""
        return self.root / receipt_id

    def write(self, receipt: Receipt) -> Path:
        """Write a receipt by temporary file, fsync and rename: a reader sees all of it or nothing.

        Raises MoetBootError when it cannot be written; what was there before stays.
        """
        path = self.folder(receipt.id) / FILE
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        body = receipt.model_dump_json(by_alias=True, indent=1)
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise MoetBootError(
                f"cannot write the receipt {path}: {error.strerror or error}",
                fix="free some space there, or set MOET_BOOT_STATE_DIR to another folder",
            ) from error
        return path

    def read(self, receipt_id: str) -> Receipt:
        """One receipt by its id, an unambiguous beginning of it, or `last`.

        Raises ArtefactMissingError when there is none, UsageError when several begin so, and
        ArtefactDamagedError when its file cannot be understood.
        """
        return self._load(self.find(receipt_id))

    def find(self, receipt_id: str) -> str:
        """The full id of `last`, of an id, or of the beginning of one."""
        ids = self.ids()
        if receipt_id == "last" and ids:
            return ids[-1]
        if receipt_id in ids:
            return receipt_id
        matching = [i for i in ids if receipt_id and i.startswith(receipt_id)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(
                f"{len(matching)} receipts begin with {receipt_id!r}: {', '.join(matching[-3:])}",
                fix="give more of the id",
            )
        raise ArtefactMissingError(f"no receipt {receipt_id!r} in {self.root}", fix="see `moet-boot receipts list`")

    def ids(self) -> list[str]:
        """All ids, the oldest first."""
        if not self.root.is_dir():
            return []
        return sorted(p.name for p in self.root.iterdir() if _ID.match(p.name) and (p / FILE).exists())

    def list(self) -> list[Listed]:
        """All receipts, the oldest first; a damaged one is listed with its problem."""
        found: list[Listed] = []
        for receipt_id in self.ids():
            try:
                found.append(Listed(receipt_id, self.folder(receipt_id), self._load(receipt_id)))
            except ArtefactDamagedError as error:
                found.append(Listed(receipt_id, self.folder(receipt_id), None, error.what))
        return found

    def _load(self, receipt_id: str) -> Receipt:
        path = self.folder(receipt_id) / FILE
        try:
            return Receipt.model_validate_json(path.read_bytes())
        except (OSError, ValidationError, json.JSONDecodeError) as error:
            cause = str(error).splitlines()[0]
            raise ArtefactDamagedError(
                f"receipt {path} cannot be read: {cause}",
                fix="remove its folder; other receipts are not affected",
            ) from error
