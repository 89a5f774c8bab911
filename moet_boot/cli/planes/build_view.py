"""A build as JSON and as lines for people."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from moet_boot.planes.build import BuildReport
from moet_boot.units import format_bytes, format_seconds


def as_document(report: BuildReport) -> dict[str, Any]:
    """The document of `planes build --json`."""
    seconds = {"duration_s": round(report.duration_s, 3), "read_back_s": round(report.read_back_s, 3)}
    return {**asdict(report), **seconds, "path": str(report.path)}


def as_lines(report: BuildReport) -> Iterator[str]:
    """What a person reads."""
    yield str(report.path)
    yield f"  slots    {report.slots}, {report.resumed} of them from an earlier run"
    building = report.duration_s - report.read_back_s
    rate = format_bytes(report.bytes_read / max(building, 1e-9))
    speed = "" if report.resumed else f", {rate} of checkpoint a second"
    yield f"  built    in {format_seconds(building)}{speed}"
    if report.sha256:
        yield f"  read     back in {format_seconds(report.read_back_s)}"
    yield f"  memory   {format_bytes(report.peak_rss_bytes)} at the peak"
    if report.sha256:
        yield f"  sha256   {report.sha256}"
