"""Pack stores: where a row lies, what the files are called, what their sidecars say (planes.md d.1 to d.3).

A pack holds one row for each (layer, expert); its sidecar lists the layers that count as present.
"""

import json
from dataclasses import dataclass

from moet_boot.planes.geometry import Geometry, SlotKind, align_up
from moet_boot.planes.identity import short_key
from moet_boot.planes.server_version import QUANTIZER_ABI, ServerVersion

SIDECAR_VERSION = {ServerVersion.V1: 1, ServerVersion.V2: 2}


@dataclass(frozen=True)
class PackShape:
    """The rows of one pack: `n_layers` counts one row of layers more than the model has (d.2)."""

    tag: str
    n_experts: int
    n_layers: int
    slot_bytes: int

    @classmethod
    def of(
        cls, geometry: Geometry, tag: SlotKind, *, layers: int | None = None, slots: SlotKind | None = None
    ) -> "PackShape":
        """The pack that a server keeps for this geometry; `layers` replaces the model's main-layer count."""
        main = geometry.n_layers if layers is None else layers
        return cls(tag.value, geometry.n_experts, main + 1, geometry.bytes_of(slots or tag))

    @property
    def stride(self) -> int:
        """Bytes from one row to the next."""
        return align_up(self.slot_bytes)

    @property
    def layer_bytes(self) -> int:
        """Bytes of one layer's rows."""
        return self.n_experts * self.stride

    @property
    def file_bytes(self) -> int:
        """Apparent size of the file; the last layer stays a hole."""
        return self.n_layers * self.layer_bytes

    def offset(self, layer: int, expert: int) -> int:
        """Where a row starts."""
        return (layer * self.n_experts + expert) * self.stride


@dataclass(frozen=True)
class PackIdentity:
    """What a server expects of a pack before it trusts it."""

    shape: PackShape
    ckpt_id: str | None
    zero_mode: str = "auto"

    @property
    def key(self) -> str:
        """The part of a v2 name that changes with the identity (without version and layers)."""
        return short_key(self._v2_fields())

    def stem(self, server: ServerVersion, suffix: str) -> str:
        """File name without `.pack`, `.json` or `.lock`."""
        middle = f".v2.{self.key}" if server is ServerVersion.V2 else ""
        return f"{self.shape.tag}{middle}.{suffix}"

    def sidecar_text(self, server: ServerVersion, layers: list[int]) -> str:
        """The sidecar exactly as the server writes it."""
        shape = self.shape
        if server is ServerVersion.V2:
            return json.dumps({**self._v2_fields(), "version": 2, "layers": layers}, sort_keys=True)
        return json.dumps(
            {
                "version": 1,
                "tag": shape.tag,
                "E": shape.n_experts,
                "n_layers": shape.n_layers,
                "slot_bytes": shape.slot_bytes,
                "stride": shape.stride,
                "ckpt_id": self.ckpt_id,
                "layers": layers,
            }
        )

    def _v2_fields(self) -> dict[str, object]:
        return {
            "E": self.shape.n_experts,
            "ckpt_id": self.ckpt_id,
            "n_layers": self.shape.n_layers,
            "quantizer_abi": QUANTIZER_ABI,
            "slot_bytes": self.shape.slot_bytes,
            "stride": self.shape.stride,
            "tag": self.shape.tag,
            "zero_mode": self.zero_mode,
        }
