"""`verify_file`: is this plane file whole, and is it what it claims to be."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from moet_boot.planes.checkpoint import CheckpointIdentity
from moet_boot.planes.direct_io import DirectReader, unreadable
from moet_boot.planes.extra import planes_extra
from moet_boot.planes.moet2pf_read import (
    KNOWN_FILES,
    PUBLISHED_BYTES,
    PUBLISHED_NAME,
    FileFormat,
    HeaderFacts,
    header_facts,
)
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.planes.verify_foreign import NO_TABLE, verify_foreign
from moet_boot.planes.verify_own import verify_own
from moet_boot.planes.verify_report import SlotFindings, VerifyOptions, VerifyReport
from moet_boot.planes.whole_file import whole_file_sha256


def verify_file(
    path: Path, options: VerifyOptions, *, on_slots: Progress = no_progress, on_whole_file: Progress = no_progress
) -> VerifyReport:
    """Verify one plane file; what is wrong with it is in the report.

    Raises ArtefactMissingError when there is no file, ArtefactDamagedError when it is no readable regular
    file or its header or table cannot be read. Reads past the page cache.
    """
    started = time.monotonic()
    with DirectReader(path, direct=options.direct) as reader:
        facts = header_facts(reader)
        findings = _rebuilt(reader, _verify_slots(reader, facts, options, on_slots), options)
        digest = _digest(reader, facts, options, on_whole_file)
        known = KNOWN_FILES.get(digest) if digest else None
        findings = _with_whole_file(findings, facts, digest, known)
        if reader.changed:
            findings = replace(findings, problems=(*findings.problems, "it changed while it was verified"))
        return VerifyReport(
            path=path,
            format=facts.format,
            options=options,
            findings=findings,
            revision=facts.revision,
            whole_file_sha256=digest,
            known=known,
            io=reader.io,
            bytes_read=reader.bytes_read,
            state=reader.state,
            duration_s=time.monotonic() - started,
        )


def _verify_slots(
    reader: DirectReader, facts: HeaderFacts, options: VerifyOptions, on_progress: Progress
) -> SlotFindings:
    problems, notes = _expectations(facts, options)
    if facts.header is not None:
        findings = verify_own(reader, facts.header, options, on_progress)
    elif facts.format is FileFormat.NOT_MOET2PF:
        findings = SlotFindings()
    else:
        findings = _verify_discoverable(reader, facts, options, on_progress)
    return replace(
        findings,
        problems=(*facts.problems, *problems, *findings.problems),
        notes=(*notes, *findings.notes),
    )


def _verify_discoverable(
    reader: DirectReader, facts: HeaderFacts, options: VerifyOptions, on_progress: Progress
) -> SlotFindings:
    geometry = facts.geometry
    if geometry is None and options.checkpoint is not None:
        geometry = options.checkpoint.geometry
    if geometry is not None:
        return verify_foreign(reader, geometry, options, on_progress)
    difference = reader.size - PUBLISHED_BYTES
    off = f"{abs(difference)} {'more' if difference > 0 else 'fewer'} than the published file"
    problem = f"the header's layout is unknown and the size, {reader.size} bytes, is {off}"
    return SlotFindings(problems=(f"{problem}: truncated, or of another model",))


def _expectations(facts: HeaderFacts, options: VerifyOptions) -> tuple[list[str], list[str]]:
    """What contradicts the revision and the checkpoint that were named, and what could not be compared."""
    problems, notes = [], []
    if options.revision is not None:
        if facts.revision is None and facts.magic_ok:
            notes.append("the header's revision could not be read and was not compared")
        elif facts.magic_ok and facts.revision != options.revision:
            problems.append(f"made from revision {facts.revision}, expected {options.revision}")
    if options.checkpoint is not None:
        problems += _contradictions(facts, options.checkpoint)
    return problems, notes


def _contradictions(facts: HeaderFacts, checkpoint: CheckpointIdentity) -> Iterator[str]:
    if facts.geometry is not None and facts.geometry != checkpoint.geometry:
        yield f"made for {facts.geometry}, the checkpoint has {checkpoint.geometry}"
    index = facts.header.index_sha256 if facts.header else bytes(32)
    if any(index) and index != checkpoint.index_sha256:
        yield f"made from a checkpoint with another index: {index.hex()}, not {checkpoint.index_sha256.hex()}"


def _rebuilt(reader: DirectReader, findings: SlotFindings, options: VerifyOptions) -> SlotFindings:
    """Compare some slots with what the checkpoint gives, if that was asked for."""
    origin = options.checkpoint
    if not options.rebuild or origin is None or findings.slots != origin.geometry.n_slots or not findings.body_offset:
        return findings
    with planes_extra("comparing with a checkpoint"):
        from moet_boot.planes.verify_rebuild import differing_slots, drawn_slots  # noqa: PLC0415  (needs numpy)

    slots = drawn_slots(findings.slots, options.rebuild, options.seed)
    differing = differing_slots(reader, origin.geometry, findings.body_offset, origin.folder, slots)
    names = [f"slot {slot} is not what the checkpoint gives for its layer and expert" for slot in differing]
    equal = f"{len(slots) - len(differing)} of {len(slots)} slots were rebuilt from the checkpoint and are equal"
    return replace(findings, problems=(*findings.problems, *names), notes=(*findings.notes, equal))


def _digest(reader: DirectReader, facts: HeaderFacts, options: VerifyOptions, on_progress: Progress) -> str | None:
    if not options.whole_file or not facts.magic_ok:
        return None
    try:
        return whole_file_sha256(reader, on_progress=on_progress)
    except OSError as error:
        raise unreadable(reader.path, error) from error


def _with_whole_file(findings: SlotFindings, facts: HeaderFacts, digest: str | None, known: str | None) -> SlotFindings:
    """Weigh the whole-file digest: a known one settles everything, another one unmasks a published file."""
    if known is not None:
        others = tuple(problem for problem in findings.problems if problem != NO_TABLE)
        return replace(findings, problems=others)
    if digest is None or facts.format is FileFormat.OWN or facts.size != PUBLISHED_BYTES:
        return findings
    problem = f"differs from the published {PUBLISHED_NAME}: sha256 {digest}"
    return replace(findings, problems=(*findings.problems, problem))
