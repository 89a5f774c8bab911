"""Whatever is done to a store or a cache, a forecast is an answer, and it never calls bad bytes safe."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.planes.loader_skip import SkipForecast, Verdict, forecast
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_contents import check_contents
from moet_boot.planes.skip_modes import ContentsMode
from moet_boot.planes.skip_reader import read_skip_facts
from testing.skip_cases import Tree, apply, flip, make_tree

ENVIRONMENTS: list[dict[str, str]] = [
    {"DELTA_GB": "0"},
    {},
    {"BASE_CACHE_GB": "1"},
    {"BASE_CACHE_GB": "1", "DELTA_GB": "1"},
]
JSON_FILES = ["base_json", "fp4_json", "meta"]
PARTS = [f"part:{layer}.{part}" for layer in (0, 1) for part in ("planes13", "sc13", "planes2", "sc2", "fp13", "fp2")]
FILES = ["base_pack", "fp4_pack", *PARTS]

small_json = (
    st.none() | st.booleans() | st.integers(-2, 50000) | st.text(max_size=5) | st.lists(st.integers(-1, 4), max_size=3)
)
KEYS = st.sampled_from(
    [
        "version",
        "E",
        "n_layers",
        "slot_bytes",
        "stride",
        "ckpt_id",
        "tag",
        "zero_mode",
        "world",
        "rank",
        "fp4_split",
        "x",
    ]
)
edits = st.one_of(
    st.tuples(st.just("json_set"), st.sampled_from(JSON_FILES), KEYS, small_json),
    st.tuples(st.just("layers"), st.sampled_from(JSON_FILES[:2]), st.lists(st.integers(-1, 4), max_size=4)),
    st.tuples(st.just("delete"), st.sampled_from([*JSON_FILES, *FILES])),
    st.tuples(st.just("truncate"), st.sampled_from(FILES), st.integers(-4000, -1)),
    st.tuples(st.just("append"), st.sampled_from(FILES), st.integers(1, 4000)),
    st.tuples(st.just("text"), st.sampled_from(JSON_FILES), st.text(max_size=20)),
)


def edited(folder: Path, server: ServerVersion, operations: list[tuple[Any, ...]]) -> Tree:
    tree = make_tree(folder / "tree", server)
    for operation in operations:
        try:
            apply(tree, operation)
        except (StopIteration, FileNotFoundError, ValueError, TypeError, OSError):
            continue  # an earlier edit took the file away, or left nothing to edit in it
    return tree


def assert_sound(found: SkipForecast) -> None:
    assert len(found.layers) == 2
    for layer in found.layers:
        assert layer.w2
        assert layer.danger or layer.served or not layer.skip
        assert (layer.reason is None) is layer.skip
        assert (layer.cause is None) is layer.skip
    aborted = any(layer.skip and not layer.served for layer in found.layers)
    assert (found.verdict is Verdict.BOOT_ABORT) is aborted
    assert found.memory.staged_bytes == len(found.missed) * found.memory.gpu_layer_bytes
    assert found.memory.host_transient_bytes >= found.memory.staged_bytes


@settings(max_examples=15, deadline=None)
@given(
    server=st.sampled_from(ServerVersion),
    env=st.sampled_from(ENVIRONMENTS),
    operations=st.lists(edits, min_size=1, max_size=3),
)
def test_any_edit_gets_a_sound_forecast(
    server: ServerVersion,
    env: dict[str, str],
    operations: list[tuple[Any, ...]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("edit")
    tree = edited(folder, server, operations)
    found = forecast(read_skip_facts(tree.request(tree.env(**env))))
    assert_sound(found)
    # a v2 server opens a pack by the very rules of its probe
    assert server is ServerVersion.V1 or found.verdict is not Verdict.BOOT_ABORT
    shutil.rmtree(folder)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    server=st.sampled_from(ServerVersion),
    env=st.sampled_from(ENVIRONMENTS),
    name=st.sampled_from(FILES),
    place=st.floats(0, 1, exclude_max=True),
)
def test_no_flipped_bit_in_what_is_served_goes_unnoticed(
    server: ServerVersion, env: dict[str, str], name: str, place: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("flip")
    tree = make_tree(folder / "tree", server)
    path = tree.file(name)
    offset = int(place * path.stat().st_size)
    flip(path, offset)
    request = tree.request(tree.env(**env))
    facts, _ = check_contents(read_skip_facts(request), request, ContentsMode.FULL)
    found = forecast(facts)
    assert found.verdict is Verdict.HIT
    assert bool(found.endangered) is is_served(env, name, offset)
    shutil.rmtree(folder)


def is_served(env: dict[str, str], name: str, offset: int) -> bool:
    """Whether the server of this environment reads the byte."""
    over_base, fp4 = (
        "BASE_CACHE_GB" in env,
        env.get("DELTA_GB") != "0" and ("BASE_CACHE_GB" not in env or "DELTA_GB" in env),
    )
    if name.startswith("part:"):
        return not over_base and (fp4 or ".fp" not in name)
    slot, stride = (27648, 28672) if name == "base_pack" else (52224, 53248)
    inside = offset < 8 * stride and offset % stride < slot
    return over_base and inside and (fp4 or name == "base_pack")


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 30), server=st.sampled_from(ServerVersion))
def test_more_of_a_cache_is_never_worse(
    seed: int, server: ServerVersion, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Taking files away one by one never turns a miss into a hit."""
    folder = tmp_path_factory.mktemp("less")
    tree = make_tree(folder / "tree", server)
    parts = list(PARTS)
    random.Random(seed).shuffle(parts)
    skipped = 2
    for name in parts[:6]:
        tree.file(name).unlink()
        found = forecast(read_skip_facts(tree.request(tree.env())))
        now = sum(layer.skip for layer in found.layers)
        assert now <= skipped
        skipped = now
    shutil.rmtree(folder)


def test_json_that_only_python_takes_is_taken(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree", ServerVersion.V1)
    path = tree.file("base_json")
    value = json.loads(path.read_text()) | {"note": float("nan"), "E": 4.0}
    path.write_text(json.dumps(value))
    assert forecast(read_skip_facts(tree.request(tree.env(BASE_CACHE_GB="1")))).verdict is Verdict.HIT
