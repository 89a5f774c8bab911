from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from moet_boot.cli.planes.skip_request import SkipOptions, read_skip_request
from moet_boot.errors import UsageError
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_reader import SkipRequest

V1, V2 = ServerVersion.V1, ServerVersion.V2
NOTHING: dict[str, Any] = {
    "profile": None,
    "variant": None,
    "sets": [],
    "env": [],
    "model_dir": None,
    "served_path": None,
    "maps": [],
    "server": None,
    "tp": None,
    "rank": 0,
    "revision": "",
    "paths": [],
}
ALONE: dict[str, Any] = {"model_dir": Path("/m"), "served_path": "/model", "server": V2}


def read(**options: Any) -> SkipRequest:
    return read_skip_request(SkipOptions(**{**NOTHING, **options}))


def test_options_alone() -> None:
    request = read(**ALONE, env=["A=1", "B=x=y", "C="], maps=["/a=/b"], tp=2, rank=1, revision="main")
    assert request.env == {"A": "1", "B": "x=y", "C": ""}
    assert (request.model_dir, request.served_path, request.server) == (Path("/m"), "/model", V2)
    assert request.mounts.mounts == ((PurePosixPath("/a"), Path("/b")),)
    assert (request.world, request.rank, request.revision) == (2, 1, "main")


def test_a_profile_gives_everything() -> None:
    request = read(profile="rtx6000-a")
    assert request.server is V1
    assert request.served_path == "/model"
    assert request.model_dir.name == "DeepSeek-V4-Flash"
    assert request.env["VLLM_MOE_W2_DELTA_GB"] == "6"
    assert request.mounts.host("/planescache/x") == Path("~/models/planescache/x").expanduser()
    assert request.mounts.host("/elsewhere") is None
    assert request.world == 1


def test_options_lie_on_top_of_a_profile() -> None:
    request = read(
        profile="rtx6000-a",
        sets=["VLLM_MOE_W2_DELTA_GB=0"],
        env=["VLLM_MOE_W2_STORE_DIR=/other"],
        maps=["/planescache=/mine"],
        **ALONE,
    )
    assert request.env["VLLM_MOE_W2_DELTA_GB"] == "0"
    assert request.env["VLLM_MOE_W2_STORE_DIR"] == "/other"
    assert request.mounts.host("/planescache") == Path("/mine")
    assert (request.model_dir, request.served_path, request.server) == (Path("/m"), "/model", V2)


def test_artefacts_lie_where_path_says_as_in_a_preflight() -> None:
    request = read(profile="rtx6000-a", paths=["checkpoint=/data/model", "planes_cache=/data/cache"])
    assert request.model_dir == Path("/data/model")
    assert request.served_path == "/model"
    assert request.mounts.host("/planescache") == Path("/data/cache")
    assert request.mounts.host("/store") == Path("~/models/moet_store").expanduser()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({}, "--model-dir, --served-path, --server", id="nothing"),
        pytest.param({**ALONE, "server": None}, "also needs --server", id="no server"),
        pytest.param({**ALONE, "model_dir": None}, "also needs --model-dir", id="no checkpoint"),
        pytest.param({**ALONE, "served_path": None}, "also needs --served-path", id="no model string"),
        pytest.param({**ALONE, "env": ["A"]}, "KEY=VALUE, got 'A'", id="no value"),
        pytest.param({**ALONE, "env": ["=1"]}, "KEY=VALUE", id="no name"),
        pytest.param({**ALONE, "maps": ["a=b"]}, "CONTAINER=HOST", id="relative mount"),
        pytest.param({**ALONE, "variant": "mtp"}, "there is none", id="variant alone"),
        pytest.param({**ALONE, "paths": ["checkpoint=/m"]}, "there is none", id="path alone"),
        pytest.param({"profile": "rtx6000-a", "paths": ["checkpoint"]}, "NAME=PATH", id="path without a name"),
        pytest.param({"profile": "rtx6000-a", "paths": ["chekpoint=/m"]}, "no artefact named", id="unknown artefact"),
        pytest.param({"profile": "spark"}, "neither packs nor a planes cache", id="plane file"),
        pytest.param({"profile": "demo"}, "neither packs nor a planes cache", id="demo"),
        pytest.param({"profile": "rtx6000-c"}, "rtx6000", id="unknown profile"),
        pytest.param({"profile": "rtx6000-a", "variant": "none"}, "no variant", id="unknown variant"),
        pytest.param({"profile": "rtx6000-a", "sets": ["VLLM_MOE_W2_DELTA_BG=1"]}, "DELTA_BG", id="unknown setting"),
    ],
)
def test_options_that_leave_something_open(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as failure:
        read(**options)
    assert failure.value.fix
