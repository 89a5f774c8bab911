"""A full verification that is done once for each state of a file: what a preflight calls before every boot."""

from dataclasses import replace
from pathlib import Path

from moet_boot.errors import MoetBootError
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.stamp import MAX_HEAD_BYTES, valid_stamp, write_stamp
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions, VerifyReport


def verify_once(
    path: Path,
    options: VerifyOptions,
    *,
    force: bool = False,
    record: bool = True,
    on_slots: Progress = no_progress,
    on_whole_file: Progress = no_progress,
) -> VerifyReport:
    """Verify a file; in full mode only quickly when it is on record as good and unchanged since.

    `force` verifies as asked whatever is on record, `record` keeps a full proof for the next time (a record
    that cannot be written is a note of the report). Raises what `verify_file` raises.
    """
    stamp = valid_stamp(path) if options.mode is VerifyMode.FULL and not force else None
    if stamp is not None:
        quick = replace(options, mode=VerifyMode.QUICK)
        return replace(verify_file(path, quick, on_slots=on_slots, on_whole_file=on_whole_file), stamp=stamp)
    report = verify_file(path, options, on_slots=on_slots, on_whole_file=on_whole_file)
    return _recorded(report) if record and report.complete else report


def _recorded(report: VerifyReport) -> VerifyReport:
    if not 0 < report.findings.body_offset <= MAX_HEAD_BYTES:
        return report
    try:
        if write_stamp(report.path, report.findings.body_offset, report.state):
            return report
        reason = "the file was changed meanwhile"
    except MoetBootError as failure:
        reason = failure.what
    notes = (*report.findings.notes, f"this verification is not on record: {reason}")
    return replace(report, findings=replace(report.findings, notes=notes))
