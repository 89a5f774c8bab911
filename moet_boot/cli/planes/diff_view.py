"""A comparison of planes as JSON and as lines for people."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from moet_boot.cli.planes.inspect_view import ranges
from moet_boot.planes.diff import PlanesDiff, SlotDifference

MAX_LINES = 40


def as_document(found: PlanesDiff) -> dict[str, Any]:
    """The document of `planes diff --json`."""
    return asdict(found) | {"a": str(found.a), "b": str(found.b), "same": found.same}


def as_lines(found: PlanesDiff) -> Iterator[str]:
    """What a person reads: what was compared, each difference, the verdict last."""
    yield f"a  {found.a}"
    yield f"b  {found.b}"
    if found.shape:
        yield f"  differ   {found.shape}"
    else:
        yield f"  compared {found.slots} slots in {', '.join(found.sections)}"
    for name, only in (("a", found.only_in_a), ("b", found.only_in_b)):
        if only:
            yield f"  note     only {name} has {', '.join(only)}: not compared"
    for name, layers in (("a", found.layers_only_in_a), ("b", found.layers_only_in_b)):
        if layers:
            yield f"  differ   layers {ranges(layers)} are only in {name}"
    yield from (f"  differ   {_slot(slot)}" for slot in found.differing[:MAX_LINES])
    if len(found.differing) > MAX_LINES:
        yield f"  differ   and {len(found.differing) - MAX_LINES} more slots (--json names all)"
    yield f"  verdict  {'the same planes' if found.same else 'DIFFERENT'}"


def _slot(slot: SlotDifference) -> str:
    return f"layer {slot.layer} expert {slot.expert}: {slot.reason or ', '.join(slot.sections)}"
