"""Tensor parallelism: each rank looks for its own files, and each holds its share of the memory."""

from pathlib import Path

import pytest

from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.loader_skip import Verdict, forecast
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_causes import Cause
from moet_boot.planes.skip_reader import SkipRequest, read_skip_facts
from testing.fake_artefacts import make_cache, make_pack

HALF = Geometry(n_layers=2, n_experts=3, hidden=64, inter=128, tp=2)
CONFIG = '{"num_hidden_layers": 2, "n_routed_experts": 3, "hidden_size": 64, "moe_intermediate_size": 128}'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(CONFIG)
    return folder


def request(
    model: Path, server: ServerVersion, rank: int, env: dict[str, str] | None = None, *, world: int = 2
) -> SkipRequest:
    full = {"VLLM_MOE_W2": "1"} | {f"VLLM_MOE_W2_{name}": value for name, value in (env or {}).items()}
    if server is ServerVersion.V2:
        full["VLLM_MOE_W2_CKPT_ID"] = "id"
    return SkipRequest(full, model, "/model", server, world=world, rank=rank)


def v1_or_v2_id(model: Path, server: ServerVersion) -> str:
    facts = read_skip_facts(request(model, server, 0))
    assert facts.ckpt_id
    return facts.ckpt_id


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("rank", [0, 1])
def test_each_rank_finds_its_own_cache(rank: int, server: ServerVersion, model: Path, tmp_path: Path) -> None:
    make_cache(tmp_path / "c", HALF, server=server, rank=rank, ckpt_id=v1_or_v2_id(model, server))
    env = {"PLANES_CACHE": str(tmp_path / "c"), "DELTA_GB": "0"}
    found = forecast(read_skip_facts(request(model, server, rank, env)))
    assert found.verdict is Verdict.HIT
    assert found.memory.cache_read_bytes == 3 * HALF.slot_bytes
    other = forecast(read_skip_facts(request(model, server, 1 - rank, env)))
    assert other.verdict is Verdict.MISS
    assert other.layers[0].cause is Cause.OTHER_WRITER
    assert f"rank {rank} of 2" in (other.layers[0].reason or "")


@pytest.mark.parametrize("server", ServerVersion)
@pytest.mark.parametrize("rank", [0, 1])
def test_each_rank_finds_its_own_packs(rank: int, server: ServerVersion, model: Path, tmp_path: Path) -> None:
    ckpt_id = v1_or_v2_id(model, server)
    for kind in (SlotKind.BASE, SlotKind.FP4):
        make_pack(tmp_path / "s", HALF, kind, server=server, rank=rank, ckpt_id=ckpt_id)
    env = {"STORE_DIR": str(tmp_path / "s"), "BASE_CACHE_GB": "1", "DELTA_GB": "1"}
    assert forecast(read_skip_facts(request(model, server, rank, env))).verdict is Verdict.HIT
    other = forecast(read_skip_facts(request(model, server, 1 - rank, env)))
    assert other.layers[0].cause is Cause.OTHER_WRITER
    assert other.memory.write_buffer_bytes == 3 * (HALF.stride_of(SlotKind.BASE) + HALF.stride_of(SlotKind.FP4))


@pytest.mark.parametrize("server", ServerVersion)
def test_another_world_is_another_writer(server: ServerVersion, model: Path, tmp_path: Path) -> None:
    make_cache(tmp_path / "c", HALF, server=server, ckpt_id=v1_or_v2_id(model, server))
    env = {"PLANES_CACHE": str(tmp_path / "c"), "DELTA_GB": "0"}
    found = forecast(read_skip_facts(request(model, server, 0, env, world=1)))
    assert found.layers[0].cause is Cause.OTHER_WRITER
    assert "it is for rank 0 of 2, this is rank 0 of 1" in (found.layers[0].reason or "")


def test_two_ranks_share_the_staging(model: Path) -> None:
    alone = forecast(read_skip_facts(request(model, ServerVersion.V1, 0, {"DELTA_GB": "0"}, world=1)))
    shared = forecast(read_skip_facts(request(model, ServerVersion.V1, 1, {"DELTA_GB": "0"})))
    assert shared.memory.staged_bytes * 2 == alone.memory.staged_bytes
    assert alone.memory.staged_bytes == 2 * 3 * 3 * 64 * 128 * 17 // 32
