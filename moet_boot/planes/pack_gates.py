"""The two looks a server takes at a pack: the probe that skips loading, and the open (planes.md d.4).

In v1 the first asks for less than the second; what passes one and fails the other aborts the boot.
Values are compared as Python compares them, because the server is Python: 1 == 1.0 == True.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from moet_boot.planes.json_file import JsonFile
from moet_boot.planes.pack_store import SIDECAR_VERSION, PackIdentity
from moet_boot.planes.server_version import QUANTIZER_ABI, ServerVersion

_SHAPE_FIELDS = ("version", "E", "slot_bytes", "stride")
_V1_OPEN_FIELDS = (*_SHAPE_FIELDS, "n_layers", "ckpt_id")
_V2_FIELDS = (*_V1_OPEN_FIELDS, "tag", "zero_mode", "quantizer_abi")


@dataclass(frozen=True)
class PackFacts:
    """One pack as it lies on the disk.

    `size` is the pack file's size in bytes, None without a file. `hole_layers` are listed layers with
    unwritten blocks, `damaged_layers` those whose bytes were compared and differ.
    """

    sidecar: JsonFile
    size: int | None
    hole_layers: tuple[int, ...] = ()
    damaged_layers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Gate:
    """An answer of the server about a pack: the layers it takes, or the fields on which it failed."""

    layers: Sequence[Any]
    failed: tuple[str, ...] = ()

    def has(self, layer: int) -> bool:
        """Whether this layer counts as present."""
        return not self.failed and layer in self.layers


def probe(facts: PackFacts, want: PackIdentity, server: ServerVersion) -> Gate:
    """What the loader skip believes."""
    if server is ServerVersion.V1:
        return _gate(facts, want, server, _SHAPE_FIELDS)
    return _strict_gate(facts, want)


def store_open(facts: PackFacts, want: PackIdentity, server: ServerVersion) -> Gate:
    """What the store then serves."""
    if server is ServerVersion.V1:
        return _gate(facts, want, server, _V1_OPEN_FIELDS)
    return _strict_gate(facts, want)


def legal_layers(layers: object, n_layers: int) -> bool:
    """Whether a sidecar's list holds distinct layer numbers below `n_layers`."""
    if not isinstance(layers, list) or not all(type(layer) is int for layer in layers):
        return False
    return len(set(layers)) == len(layers) and all(0 <= layer < n_layers for layer in layers)


def _strict_gate(facts: PackFacts, want: PackIdentity) -> Gate:
    gate = _gate(facts, want, ServerVersion.V2, _V2_FIELDS)
    failed = list(gate.failed)
    if want.ckpt_id is None and "ckpt_id" not in failed:
        failed.append("ckpt_id")
    if not legal_layers(facts.sidecar.get("layers"), want.shape.n_layers):
        failed.append("layers")
    if facts.size != want.shape.file_bytes:
        failed.append("size")
    return Gate(gate.layers, tuple(failed))


def _gate(facts: PackFacts, want: PackIdentity, server: ServerVersion, fields: tuple[str, ...]) -> Gate:
    if not isinstance(facts.sidecar.value, dict):
        return Gate((), ("sidecar",))
    expected = _expected(want, server)
    failed = tuple(field for field in fields if facts.sidecar.get(field) != expected[field])
    layers = facts.sidecar.get("layers")
    return Gate(layers if isinstance(layers, list) else (), failed)


def _expected(want: PackIdentity, server: ServerVersion) -> dict[str, object]:
    return {
        "version": SIDECAR_VERSION[server],
        "E": want.shape.n_experts,
        "slot_bytes": want.shape.slot_bytes,
        "stride": want.shape.stride,
        "n_layers": want.shape.n_layers,
        "ckpt_id": want.ckpt_id,
        "tag": want.shape.tag,
        "zero_mode": want.zero_mode,
        "quantizer_abi": QUANTIZER_ABI,
    }
