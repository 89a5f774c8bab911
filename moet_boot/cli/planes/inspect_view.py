"""Descriptions of artefacts as JSON and as lines for people."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from moet_boot.planes.description import Description
from moet_boot.units import format_bytes


def as_document(found: Iterable[Description]) -> dict[str, Any]:
    """The document of `planes inspect --json`."""
    return {"artefacts": [_artefact(description) for description in found]}


def as_lines(found: Description) -> Iterator[str]:
    """What a person reads about one artefact."""
    yield str(found.path)
    tag = f" {found.tag}" if found.tag else ""
    yield f"  kind     {found.kind}{tag}, {found.format}, rank {found.rank} of {found.world}"
    yield f"  model    {_geometry(found)}"
    if identity := _identity(found):
        yield f"  made for {identity}"
    fp4 = f"; FP4 parts in layers {ranges(found.fp4_layers)}" if found.fp4_layers else ""
    of = f" of {found.n_layers}" if found.n_layers else ""
    yield f"  layers   {len(found.layers)}{of}: {ranges(found.layers)}{fp4}"
    sizes = f"{format_bytes(found.apparent_bytes)} apparent, {format_bytes(found.allocated_bytes)} allocated"
    yield f"  size     {found.apparent_bytes} bytes: {sizes}"
    if found.hole_layers:
        yield f"  HOLES    in layers {ranges(found.hole_layers)}: a server reads zeros there and does not notice"
    yield from (f"  PROBLEM  {problem}" for problem in found.problems)
    yield from (f"  note     {note}" for note in found.notes)
    yield f"  verdict  {_verdict(found)}"


def ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers in short: `0-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{low}-{high}" if low < high else str(low) for low, high in runs) or "none"


def _artefact(found: Description) -> dict[str, Any]:
    body = asdict(found) | {
        "path": str(found.path),
        "layers": list(found.layers),
        "missing_layers": list(found.missing_layers),
        "whole": found.whole,
    }
    body["hidden"] = found.geometry.hidden if found.geometry else None
    body["inter"] = found.geometry.inter if found.geometry else None
    del body["geometry"]
    return body


def _geometry(found: Description) -> str:
    if found.geometry:
        shape = found.geometry
        return f"{shape.n_layers} layers of {shape.n_experts} experts, {shape.hidden} x {shape.inter}"
    if found.n_experts:
        return f"{found.n_layers} layers of {found.n_experts} experts, slots of {found.slot_bytes} bytes"
    return "not stated"


def _identity(found: Description) -> str:
    named = {
        "ckpt_id": found.ckpt_id,
        "repo": found.repo,
        "revision": found.revision,
        "zero mode": found.zero_mode,
        "split mode": "on" if found.fp4_split else None,
    }
    return ", ".join(f"{name} {value}" for name, value in named.items() if value)


def _verdict(found: Description) -> str:
    if found.problems or found.hole_layers:
        return "DAMAGED"
    if found.whole:
        return "complete (contents were not read)"
    return f"incomplete: layers {ranges(found.missing_layers)} are missing" if found.missing_layers else "not known"
