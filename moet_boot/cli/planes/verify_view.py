"""A verification as JSON and as lines for people."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from moet_boot.planes.moet2pf_read import FileFormat
from moet_boot.planes.stamp import Stamp
from moet_boot.planes.verify_report import BadSlot, VerifyMode, VerifyReport
from moet_boot.units import format_bytes, format_seconds


def as_document(report: VerifyReport) -> dict[str, Any]:
    """The document of `planes verify --json`."""
    found, sampled = report.findings, report.options.mode is VerifyMode.SAMPLE
    return {
        "path": str(report.path),
        "format": report.format,
        "mode": report.options.mode,
        "slots": found.slots,
        "verified": found.verified,
        "unchecked": report.unchecked,
        "bad": [asdict(slot) for slot in found.bad],
        "discovery": asdict(found.discovery) if found.discovery else None,
        "whole_file_sha256": report.whole_file_sha256,
        "known": report.known,
        "io": report.io,
        "bytes_read": report.bytes_read,
        "duration_s": round(report.duration_s, 3),
        "ok": report.ok,
        "revision": report.revision,
        "seed": report.options.seed if sampled else None,
        "share": report.options.share if sampled else None,
        "on_record_since": _date(report.stamp),
        "problems": list(found.problems),
        "notes": list(found.notes),
        "fix": None if report.ok else advice(report),
    }


def as_lines(report: VerifyReport) -> Iterator[str]:
    """What a person reads: one line a fact, every damaged slot by name, the verdict last."""
    found, options = report.findings, report.options
    yield str(report.path)
    revision = f", revision {report.revision}" if report.revision else ""
    yield f"  format   {report.format}{revision}"
    sample = f" {options.share:.3g} of the slots, seed {options.seed}" if options.mode is VerifyMode.SAMPLE else ""
    counts = f"{found.verified} good, {len(found.bad)} bad, {report.unchecked} not looked at"
    yield f"  slots    {found.slots}: {counts} ({options.mode}{sample})"
    rate = format_bytes(report.bytes_read / max(report.duration_s, 1e-9))
    took = format_seconds(report.duration_s)
    yield f"  read     {format_bytes(report.bytes_read)} in {took}, {rate}/s, {report.io}"
    if report.whole_file_sha256:
        yield f"  sha256   {report.whole_file_sha256} ({report.known or 'not a published file'})"
    if found.discovery and found.discovery.table_offset is not None:
        place = f"at {found.discovery.table_offset}, every {found.discovery.entry_stride} bytes"
        yield f"  table    {found.discovery.mode}, discovered {place}"
    if report.stamp:
        yield f"  record   every slot was good on {_date(report.stamp)}, and the file is unchanged since"
    yield from (f"  BAD      {line}" for line in _bad_lines(found.bad))
    yield from (f"  PROBLEM  {problem}" for problem in found.problems)
    yield from (f"  note     {note}" for note in found.notes)
    yield f"  verdict  {verdict(report)}"


def verdict(report: VerifyReport) -> str:
    """The outcome in a few words."""
    if not report.ok:
        return "DAMAGED" if report.findings.bad or report.findings.problems else "NOTHING VERIFIED"
    return "good" if report.complete else "good as far as it was looked at"


def advice(report: VerifyReport) -> str:
    """What to do about a file that did not verify."""
    if report.format is FileFormat.NOT_MOET2PF:
        return "give the path of a .moet2pf file; fetch it if this is a pointer or an unfinished download"
    if report.format is FileFormat.FOREIGN and not report.findings.bad:
        return "try --whole-file against the published digest, or --checkpoint DIR for another geometry"
    return "fetch the file again, or build it anew with `moet-boot planes build`"


def _bad_lines(bad: Sequence[BadSlot]) -> Iterator[str]:
    """One line a slot; neighbours with the same reason share one, so that a cut file stays readable."""
    for _, group in groupby(enumerate(bad), key=lambda pair: (pair[1].slot - pair[0], pair[1].reason)):
        run = [slot for _, slot in group]
        first, last = run[0], run[-1]
        name = _name(first) if len(run) == 1 else f"{len(run)} slots, {_name(first)} to {_name(last)}"
        yield f"{name}, bytes {first.offset} to {last.offset + last.bytes - 1}: {first.reason}"


def _name(slot: BadSlot) -> str:
    return f"slot {slot.slot} (layer {slot.layer}, expert {slot.expert})"


def _date(stamp: Stamp | None) -> str | None:
    return datetime.fromtimestamp(stamp.verified_at, UTC).isoformat() if stamp else None
