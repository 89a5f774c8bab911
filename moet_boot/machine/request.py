"""What the recorder is asked to look at: the paths, image and program of one boot, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from moet_boot.planes.path_map import PathMap
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_reader import SkipRequest
from moet_boot.profile.model import ArtefactKind, Profile

STORES = (ArtefactKind.PLANES_CACHE, ArtefactKind.PACK_STORE)


@dataclass(frozen=True)
class Place:
    """An artefact by the profile's name, and where it lies on this machine."""

    name: str
    kind: ArtefactKind
    path: str


@dataclass(frozen=True)
class SnapshotRequest:
    """One boot's interest in the machine. What is left empty is not looked at.

    `stores`: how the server will look for planes caches and packs; None leaves their completeness open.
    """

    places: tuple[Place, ...] = ()
    image: str | None = None
    container: str | None = None
    engine_command: tuple[str, ...] = ()
    stores: SkipRequest | None = None


class PlannedMount(Protocol):
    """A bind mount of a launch plan."""

    @property
    def source(self) -> str: ...
    @property
    def target(self) -> str: ...


class PlannedContainer(Protocol):
    """The container of a launch plan."""

    @property
    def image(self) -> str: ...
    @property
    def name(self) -> str: ...


class Planned(Protocol):
    """The part of a launch plan that the recorder needs; the plan itself stands a floor higher."""

    @property
    def argv(self) -> tuple[str, ...]: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def mounts(self) -> Sequence[PlannedMount]: ...
    @property
    def paths(self) -> Mapping[str, str]: ...
    @property
    def model(self) -> str: ...
    @property
    def container(self) -> PlannedContainer | None: ...


def request_for(profile: Profile, plan: Planned) -> SnapshotRequest:
    """What to record before this plan is started."""
    places = tuple(Place(name, profile.artefacts[name].kind, path) for name, path in plan.paths.items())
    container = plan.container
    return SnapshotRequest(
        places=places,
        image=container.image if container else None,
        container=container.name if container else None,
        engine_command=() if container else plan.argv,
        stores=_stores(profile, plan, places),
    )


def _stores(profile: Profile, plan: Planned, places: tuple[Place, ...]) -> SkipRequest | None:
    checkpoint = next((place for place in places if place.kind is ArtefactKind.CHECKPOINT), None)
    formats = profile.engine.formats
    if checkpoint is None or formats is None or not any(place.kind in STORES for place in places):
        return None
    return SkipRequest(
        env=plan.env,
        model_dir=Path(checkpoint.path),
        served_path=plan.model,
        server=ServerVersion(formats),
        mounts=PathMap(tuple((PurePosixPath(mount.target), Path(mount.source)) for mount in plan.mounts)),
        world=int(profile.flag("--tensor-parallel-size") or 1),
    )
