"""A build as JSON and as lines for people."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from moet_boot.planes.build import BuildReport
from moet_boot.units import format_bytes, format_seconds


def as_document(report: BuildReport) -> dict[str, Any]:
    """The document of `planes build --json`."""
    return {**asdict(report), "path": str(report.path), "duration_s": round(report.duration_s, 3)}


def as_lines(report: BuildReport) -> Iterator[str]:
    """What a person reads."""
    yield str(report.path)
    yield f"  slots    {report.slots}, {report.resumed} of them from an earlier run"
    rate = format_bytes(report.bytes_read / max(report.duration_s, 1e-9))
    yield f"  took     {format_seconds(report.duration_s)}" + (
        "" if report.resumed else f", {rate} of checkpoint a second"
    )
    yield f"  memory   {format_bytes(report.peak_rss_bytes)} at the peak"
    if report.sha256:
        yield f"  sha256   {report.sha256}"
