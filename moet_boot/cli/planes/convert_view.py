"""A conversion as JSON and as lines for people."""

from collections.abc import Iterator
from typing import Any

from moet_boot.cli.planes.inspect_view import ranges
from moet_boot.planes.convert import ConvertReport
from moet_boot.planes.convert_request import Fp4
from moet_boot.units import format_bytes, format_seconds


def as_document(report: ConvertReport) -> dict[str, Any]:
    """The document of `planes convert --json`."""
    return {
        "source": str(report.source),
        "to": report.to,
        "files": [str(path) for path in report.files],
        "layers": list(report.layers),
        "slots": report.slots,
        "fp4": report.fp4,
        "fp4_from": report.fp4_from,
        "ckpt_id": report.ckpt_id,
        "bytes_written": report.bytes_written,
        "duration_s": round(report.duration_s, 3),
    }


def as_lines(report: ConvertReport) -> Iterator[str]:
    """What a person reads: what was made, from what, for whom."""
    for path in report.files:
        yield str(path)
    yield f"  slots    {report.slots} in layers {ranges(report.layers)}, from {report.source}"
    parts = "none" if report.fp4 is Fp4.NONE else f"{report.fp4}, from the {report.fp4_from}"
    yield f"  FP4      {parts}"
    if report.ckpt_id:
        yield f"  made for ckpt_id {report.ckpt_id}"
    rate = format_bytes(report.bytes_written / max(report.duration_s, 1e-9))
    took = format_seconds(report.duration_s)
    yield f"  written  {format_bytes(report.bytes_written)} in {took}, {rate}/s"
