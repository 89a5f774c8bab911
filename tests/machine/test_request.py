from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from moet_boot.launch.plan import build_plan
from moet_boot.machine.request import Place, SnapshotRequest, request_for
from moet_boot.planes.server_version import ServerVersion
from moet_boot.profile.load import load_profile
from moet_boot.profile.model import ArtefactKind


def request(name: str, **paths: str) -> SnapshotRequest:
    profile = load_profile(name)
    return request_for(profile, build_plan(profile, paths=paths))


def test_the_artefacts_of_the_plan_are_looked_at() -> None:
    places = request("spark", plane_file="/data/p.moet2pf", checkpoint="/data/m").places
    assert set(places) == {
        Place("plane_file", ArtefactKind.PLANE_FILE, "/data/p.moet2pf"),
        Place("checkpoint", ArtefactKind.CHECKPOINT, "/data/m"),
    }


def test_a_container_is_looked_for_by_image_and_name() -> None:
    asked = request("spark")
    assert asked.image == "vllm-moet-gb10:v024"
    assert asked.container is not None
    assert asked.engine_command == ()


def test_a_program_is_looked_for_by_its_command() -> None:
    asked = request("demo")
    assert asked.engine_command[0].endswith("vllm")
    assert (asked.image, asked.container) == (None, None)


def test_stores_are_looked_for_as_the_server_will() -> None:
    stores = request("rtx6000-a", checkpoint="/data/m", planes_cache="/data/c", pack_store="/data/s").stores
    assert stores is not None
    assert (stores.model_dir, stores.served_path, stores.server) == (Path("/data/m"), "/model", ServerVersion.V1)
    assert stores.env["VLLM_MOE_W2_PLANES_CACHE"] == "/planescache"
    assert stores.mounts.host("/planescache") == Path("/data/c")
    assert stores.mounts.host("/store/x") == Path("/data/s/x")
    assert (PurePosixPath("/model"), Path("/data/m")) in stores.mounts.mounts
    assert (stores.world, stores.rank) == (1, 0)


@pytest.mark.parametrize("name", ["spark", "demo"])
def test_a_plan_without_stores_asks_for_none(name: str) -> None:
    assert request(name).stores is None


def test_tensor_parallel_servers_have_a_world_of_their_own() -> None:
    profile = load_profile("rtx6000-b")
    setting = profile.flags["--port"].model_copy(update={"value": 2})
    wide = profile.model_copy(update={"flags": {**profile.flags, "--tensor-parallel-size": setting}})
    asked = request_for(wide, build_plan(profile))
    assert asked.stores is not None
    assert asked.stores.world == 2


def test_an_empty_request_asks_for_nothing() -> None:
    empty = SnapshotRequest()
    assert (empty.places, empty.image, empty.stores) == ((), None, None)
    assert replace(empty, image="x").image == "x"
