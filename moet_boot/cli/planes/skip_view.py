"""A skip forecast as JSON and as lines for people."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from moet_boot.cli.planes.inspect_view import ranges
from moet_boot.planes.loader_skip import LayerForecast, SkipForecast
from moet_boot.planes.skip_contents import ContentsReport
from moet_boot.planes.skip_facts import SkipFacts
from moet_boot.units import format_bytes


def as_document(found: SkipForecast, facts: SkipFacts, compared: ContentsReport) -> dict[str, Any]:
    """The document of `planes skip-forecast --json`."""
    memory = found.memory
    return {
        "server": found.server,
        "layers": [vars(layer) for layer in found.layers],
        "host_transient_bytes": memory.host_transient_bytes,
        "resident_store_bytes": memory.resident_store_bytes,
        "verdict": found.verdict,
        "staged_bytes": memory.staged_bytes,
        "cache_read_bytes": memory.cache_read_bytes,
        "write_buffer_bytes": memory.write_buffer_bytes,
        "gpu_transient_bytes": memory.gpu_layer_bytes,
        "ckpt_id": facts.ckpt_id,
        "contents": vars(compared),
    }


def as_lines(found: SkipForecast, facts: SkipFacts, compared: ContentsReport) -> Iterator[str]:
    """What a person reads: layers that share a fate in one line, the memory, the verdict last."""
    yield f"{facts.model} on a {found.server} server, ckpt_id {facts.ckpt_id or 'none'}"
    for _, run in groupby(found.layers, key=_fate):
        layers = list(run)
        yield from _layer_lines(ranges([layer.layer for layer in layers]), layers[0])
    memory = found.memory
    yield f"  host     {format_bytes(memory.host_transient_bytes)} while loading: {_transient(found)}"
    yield f"  host     {format_bytes(memory.resident_store_bytes)} for the tiers' own stores"
    yield f"  GPU      {format_bytes(memory.gpu_layer_bytes)} for one layer's parameters while it is created"
    yield f"  contents {_contents(compared)}"
    danger = f", {len(found.endangered)} layer(s) in DANGER" if found.endangered else ""
    yield f"  verdict  {found.verdict}{danger}"


def _fate(layer: LayerForecast) -> tuple[object, ...]:
    return layer.w2, layer.skip, layer.served, layer.cause, layer.reason, layer.danger


def _layer_lines(names: str, layer: LayerForecast) -> Iterator[str]:
    if layer.skip:
        outcome = f"skipped, from the {layer.source}" if layer.served else "skipped and NOT SERVED: the boot aborts"
    else:
        outcome = "staged in host RAM" if layer.w2 else "not on the 2-bit path"
    yield f"  layers   {names}: {outcome}"
    if layer.reason:
        yield f"    why    {layer.reason}"
    if layer.danger:
        yield f"    DANGER {layer.danger}"
    if layer.fix:
        yield f"    fix    {layer.fix}"


def _transient(found: SkipForecast) -> str:
    memory = found.memory
    staged = f"{len(found.missed)} staged layers {format_bytes(memory.staged_bytes)}"
    return f"{staged}, one cached layer at a time {format_bytes(memory.cache_read_bytes)}"


def _contents(compared: ContentsReport) -> str:
    if compared.note:
        return compared.note
    return f"{compared.compared_slots} of {compared.all_slots} slots compared with the checkpoint"
