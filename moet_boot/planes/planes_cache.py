"""Planes caches: one folder for each rank, one file for each section of a layer (planes.md section e)."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from moet_boot.planes.geometry import Geometry
from moet_boot.planes.identity import short_key
from moet_boot.planes.json_file import MISSING, JsonFile
from moet_boot.planes.server_version import QUANTIZER_ABI, ServerVersion

V1_VERSION = "tsym4-fragmajor-v1"
SPLIT = "w4q"
META_NAME = "meta.json"
# part name -> section of a slot; split mode keeps the part names and changes what they hold
PLANE_PARTS = {"planes13": "codes13", "sc13": "sc13", "planes2": "codes2", "sc2": "sc2"}
FP4_PARTS = {"fp13": "fp13", "fp2": "fp2"}
SPLIT_PARTS = {"fp13": "q13", "fp2": "q2"}
_PART_FILE = re.compile(r"layer(\d+)\.(planes13|sc13|planes2|sc2|fp13|fp2)\.bin")


@dataclass(frozen=True)
class CacheIdentity:
    """What a server expects in meta.json; it must be equal, key for key (e.3, e.4)."""

    ckpt_id: str | None
    world: int = 1
    rank: int = 0
    zero_mode: str = "auto"
    split: bool = False

    def meta(self, server: ServerVersion) -> dict[str, object]:
        """The object in the order in which the server writes it."""
        v1 = server is ServerVersion.V1
        version: dict[str, object] = {"version": V1_VERSION} if v1 else {"version": 2, "quantizer_abi": QUANTIZER_ABI}
        return {
            **version,
            "ckpt_id": self.ckpt_id,
            "world": self.world,
            "rank": self.rank,
            "zero_mode": self.zero_mode,
            "fp4_split": SPLIT if self.split else False,
        }

    def meta_text(self, server: ServerVersion) -> str:
        """meta.json exactly as the server writes it."""
        return json.dumps(self.meta(server))

    def folder(self, server: ServerVersion) -> str:
        """The rank's folder, relative to the cache's root."""
        rank_dir = f"tp{self.world}-rank{self.rank}"
        return rank_dir if server is ServerVersion.V1 else f"v2/{short_key(self.meta(server))}/{rank_dir}"


@dataclass(frozen=True)
class CacheFacts:
    """One rank's folder as it lies on the disk: `parts` maps a file's name to its size in bytes."""

    meta: JsonFile
    parts: Mapping[str, int] = field(default_factory=dict)
    hole_layers: tuple[int, ...] = ()
    damaged_layers: tuple[int, ...] = ()


NO_CACHE = CacheFacts(MISSING)


def part_name(layer: int, part: str) -> str:
    """The file of one part of one layer."""
    return f"layer{layer}.{part}.bin"


def parse_part_name(name: str) -> tuple[int, str] | None:
    """(layer, part) of a part's file name, None for any other file."""
    match = _PART_FILE.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def part_sections(*, fp4: bool, split: bool = False) -> dict[str, str]:
    """The parts a layer must have, each with the slot section it collects."""
    return {**PLANE_PARTS, **((SPLIT_PARTS if split else FP4_PARTS) if fp4 else {})}


def part_sizes(geometry: Geometry, *, fp4: bool, split: bool = False) -> dict[str, int]:
    """The exact bytes of every needed part of one layer (e.2)."""
    sections = part_sections(fp4=fp4, split=split)
    return {part: geometry.n_experts * geometry.section_bytes(name) for part, name in sections.items()}


def missing_parts(facts: CacheFacts, layer: int, sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The parts of a layer that are absent or have another size."""
    return tuple(part for part, size in sizes.items() if facts.parts.get(part_name(layer, part)) != size)


def cache_hit(facts: CacheFacts, layer: int, want: Mapping[str, object], sizes: Mapping[str, int]) -> bool:
    """Whether the server takes this layer from the cache (e.4)."""
    return facts.meta.value == want and not missing_parts(facts, layer, sizes)
