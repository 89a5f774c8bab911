"""Everything that decides about the loader skip, as found: the judge (`loader_skip.py`) reads only this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.pack_gates import PackFacts
from moet_boot.planes.pack_store import PackIdentity, PackShape
from moet_boot.planes.planes_cache import CacheFacts, CacheIdentity, part_sizes
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.w2_settings import W2Settings


class FolderState(StrEnum):
    """What a folder named in the environment is for the server."""

    THERE = "there"
    MISSING = "does not exist"
    NOT_MOUNTED = "is not under any mount of the container"
    UNREADABLE = "cannot be read"


@dataclass(frozen=True)
class Folder:
    """A folder by the name that the server uses."""

    path: str
    state: FolderState


@dataclass(frozen=True)
class Neighbour:
    """A store's other content: who it was made for. It explains a miss and never decides."""

    server: ServerVersion
    tag: SlotKind | None
    ckpt_id: str | None
    zero_mode: str | None
    world: int
    rank: int
    split: bool | None = None
    n_layers: int | None = None

    @property
    def is_cache(self) -> bool:
        """Whether it is a planes cache and not a pack."""
        return self.tag is None


@dataclass(frozen=True)
class SkipFacts:
    """What the server will find.

    `geometry` is that of one rank (`tp` is the world size), `ckpt_id` None when the server has none, and
    `ckpt_problem` says why (`revision_missing`: a hub id without a commit). `known_models` maps ids to the
    model strings that give them. A pack or cache that was not looked at is simply absent.
    """

    settings: W2Settings
    geometry: Geometry
    model: str
    ckpt_id: str | None
    ckpt_problem: str = ""
    revision_missing: bool = False
    rank: int = 0
    expert_dtype: str = "fp4"
    store: Folder | None = None
    cache_folder: Folder | None = None
    packs: Mapping[SlotKind, PackFacts] = field(default_factory=dict)
    cache: CacheFacts | None = None
    neighbours: tuple[Neighbour, ...] = ()
    known_models: Mapping[str, str] = field(default_factory=dict)

    @property
    def server(self) -> ServerVersion:
        return self.settings.server

    @property
    def main_layers(self) -> int:
        """Layers that the server counts as main: NUM_LAYERS wins over the config (f.2)."""
        given = self.settings.num_layers
        return self.geometry.n_layers if given is None else given

    def wanted_pack(self, tag: SlotKind) -> PackIdentity:
        """The identity that the server expects of this tag's pack."""
        slots = self.settings.fp4_slots if tag is SlotKind.DELTA else tag
        shape = PackShape.of(self.geometry, tag, layers=self.main_layers, slots=slots)
        return PackIdentity(shape, self.ckpt_id, self.settings.zero_mode)

    @property
    def wanted_cache(self) -> CacheIdentity:
        """The identity that the server expects of its planes cache."""
        settings = self.settings
        return CacheIdentity(self.ckpt_id, self.geometry.tp, self.rank, settings.zero_mode, settings.split)

    @property
    def part_sizes(self) -> dict[str, int]:
        """The cache parts that a layer needs, with their bytes."""
        return part_sizes(self.geometry, fp4=self.settings.fp4_tier, split=self.settings.split)

    @property
    def pack_tags(self) -> tuple[SlotKind, ...]:
        """The packs that a layer needs when the base lives on the host (f.3)."""
        return (SlotKind.BASE, self.settings.fp4_tag) if self.settings.fp4_tier else (SlotKind.BASE,)
