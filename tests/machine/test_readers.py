import subprocess
import sys
from pathlib import Path

from moet_boot.machine.readers import ROLES, readers_for
from moet_boot.machine.request import Place, SnapshotRequest
from moet_boot.machine.snapshot import Snapshot
from moet_boot.machine.tree import Tree
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_reader import SkipRequest
from moet_boot.profile.model import ArtefactKind

JOINED = {"stores"}
"""Readings that are joined into other groups."""


def names(request: SnapshotRequest) -> list[str]:
    return [reader.name for reader in readers_for(request, Tree())]


def test_every_group_of_a_snapshot_has_its_reader() -> None:
    places = tuple(Place(kind.value, kind, f"/{kind.value}") for kind in ArtefactKind)
    stores = SkipRequest({}, Path("/m"), "/model", ServerVersion.V1)
    request = SnapshotRequest(places, "image", "name", ("vllm",), stores)
    groups = {reader.group for reader in readers_for(request, Tree())}
    assert groups - JOINED == set(Snapshot.model_fields) - {"schema_", "errors"}


def test_no_reader_is_there_twice() -> None:
    places = tuple(Place(kind.value, kind, f"/{kind.value}") for kind in ArtefactKind)
    found = names(SnapshotRequest(places))
    assert len(found) == len(set(found))


def test_a_machine_without_a_boot_in_mind_is_read_too() -> None:
    found = names(SnapshotRequest())
    assert {"meminfo", "nvml", "docker", "fs.root", "fs.shm"} <= set(found)
    assert not {"checkpoint", "engine", "stores"} & set(found)


def test_each_artefact_is_read_under_its_name() -> None:
    places = (
        Place("mine", ArtefactKind.CHECKPOINT, "/m"),
        Place("cache", ArtefactKind.PLANES_CACHE, "/c"),
        Place("pack", ArtefactKind.PACK_STORE, "/s"),
    )
    assert {"checkpoint", "files.cache", "files.pack", "fs.model", "fs.plane", "fs.store"} <= set(
        names(SnapshotRequest(places))
    )


def test_of_two_artefacts_of_one_role_the_first_gives_the_filesystem(tmp_path: Path) -> None:
    places = (
        Place("file", ArtefactKind.PLANE_FILE, str(tmp_path)),
        Place("cache", ArtefactKind.PLANES_CACHE, "/"),
    )
    (reader,) = [reader for reader in readers_for(SnapshotRequest(places), Tree()) if reader.name == "fs.plane"]
    assert reader.read().path == str(tmp_path)


def test_every_kind_of_artefact_has_a_role() -> None:
    assert set(ROLES) == set(ArtefactKind)


def test_every_reader_has_a_deadline() -> None:
    assert all(0 < reader.deadline_s <= 30 for reader in readers_for(SnapshotRequest(), Tree()))


def test_reading_needs_no_heavy_module() -> None:
    heavy = {"numpy", "docker", "typer", "pynvml", "rich"}
    code = f"import moet_boot.machine.record, sys; raise SystemExit(', '.join({heavy} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=30, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
