import json
from typing import Any

import pytest

from moet_boot.errors import UsageError
from moet_boot.planes.knob import KnobKind
from moet_boot.planes.knob_table import KNOBS
from moet_boot.planes.knobs import check_knob, knob
from moet_boot.planes.server_version import ServerVersion
from testing.golden import GOLDEN

# planes.md g.5, every slash and (+_FILE) of the table spelled out
SERVER_KNOBS: list[dict[str, Any]] = json.loads((GOLDEN.parent / "planes" / "server_knobs.json").read_text())
V1, V2 = ServerVersion.V1, ServerVersion.V2


@pytest.mark.parametrize("found", KNOBS.values(), ids=lambda found: found.name)
def test_every_default_is_a_value_of_its_kind(found: object) -> None:
    known = knob(getattr(found, "name", ""))
    for server in ServerVersion:
        default = known.default_for(server)
        assert default is None or known.problem(default) == ""
    assert known.meaning
    assert known.servers


@pytest.mark.parametrize(
    ("name", "servers"),
    [
        pytest.param("VLLM_MOE_W2", {V1, V2}, id="master switch"),
        pytest.param("VLLM_MOE_W2_CKPT_ID", {V2}, id="only v2"),
        pytest.param("VLLM_MOE_W2_TICK_FALLBACK_MS", {V1}, id="only v1"),
        pytest.param("VLLM_MOE_W2_DELTA_TRACE_EVERY", {V1, V2}, id="written with a slash in the table"),
        pytest.param("VLLM_MOE_W2_SWIGLU_CLAMP_FP32", {V2}, id="numerics"),
    ],
)
def test_who_reads_a_knob(name: str, servers: set[ServerVersion]) -> None:
    assert knob(name).servers == servers


def test_the_table_has_the_servers_names_and_no_others() -> None:
    assert sorted(KNOBS) == sorted(known["name"] for known in SERVER_KNOBS)
    assert all(name == found.name for name, found in KNOBS.items())


@pytest.mark.parametrize("known", SERVER_KNOBS, ids=lambda known: known["name"])
def test_defaults_and_readers_of_every_knob(known: dict[str, Any]) -> None:
    found = KNOBS[known["name"]]
    assert found.default == known["default"]
    assert sorted(found.servers) == known["servers"]


def test_a_default_can_differ_between_versions() -> None:
    fp_max = knob("VLLM_MOE_W2_FP_MAX")
    assert (fp_max.default_for(V1), fp_max.default_for(V2)) == ("8", "32")
    assert knob("VLLM_MOE_W2_DELTA_GB").default_for(V2) == "2.0"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("VLLM_MOE_W2_DELTA_BG", "VLLM_MOE_W2_DELTA_GB"),
        ("VLLM_MOE_W2_PLANE_CACHE", "VLLM_MOE_W2_PLANES_CACHE"),
        ("VLLM_MOE_W2_GATE_MAXPROMOTE", "VLLM_MOE_W2_GATE_MAX_PROMOTE"),
        ("VLLM_MOEW2", "VLLM_MOE_W2"),
    ],
)
def test_a_typing_error_gets_the_nearest_name(given: str, meant: str) -> None:
    with pytest.raises(UsageError, match=given) as failure:
        check_knob(given, "1")
    assert failure.value.fix == f"did you mean {meant}?"


def test_a_name_like_no_other_gets_a_general_hint() -> None:
    with pytest.raises(UsageError) as failure:
        knob("HOME")
    assert "explain" in failure.value.fix


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        pytest.param("VLLM_MOE_W2", "true", "exactly 1", id="switch with a word"),
        pytest.param("VLLM_MOE_W2_GATE", " 1", "exactly 1", id="switch with a blank"),
        pytest.param("VLLM_MOE_W2_PREFILL_T", "96.5", "whole number", id="integer"),
        pytest.param("VLLM_MOE_W2_GATE_TAU", "high", "a number", id="number"),
        pytest.param("VLLM_MOE_W2_GATE_TAU", "nan", "a number", id="not a number"),
        pytest.param("VLLM_MOE_W2_BASE_CACHE_GB", "auto", "number of GiB", id="no auto here"),
        pytest.param("VLLM_MOE_W2_DELTA_GB", "6GB", "or auto", id="unit"),
        pytest.param("VLLM_MOE_W2_ZERO_MODE", "none", "auto, sign, alt", id="choice"),
        pytest.param("VLLM_MOE_W2_GATE_AGG", "max", "min, or q:", id="a word that is no form"),
        pytest.param("VLLM_MOE_W2_GATE_AGG", "q:few", "min, or q:", id="a quantile that is no number"),
        pytest.param("VLLM_MOE_W2_BASE_NVME_RATIO", "0.5", "ignores it", id="obsolete"),
    ],
)
def test_a_value_that_the_server_would_misread_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as failure:
        check_knob(name, value)
    assert value in failure.value.what
    assert name in failure.value.fix


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VLLM_MOE_W2", "1"),
        ("VLLM_MOE_W2_DELTA_GB", "6"),
        ("VLLM_MOE_W2_DELTA_GB", "auto"),
        ("VLLM_MOE_W2_DELTA_GB", "-1"),
        ("VLLM_MOE_W2_BASE_RAM_GB", "auto"),
        ("VLLM_MOE_W2_GATE_MAX_PROMOTE", "-1"),
        ("VLLM_MOE_W2_PREFILL_FP4", "ensure"),
        ("VLLM_MOE_W2_STORE_DIR", "/store"),
        ("VLLM_MOE_W2_GATE_AGG", "min"),
        ("VLLM_MOE_W2_GATE_AGG", "q:0.25"),
        ("VLLM_MOE_W2_GATE_AGG", "q:.5"),
        ("VLLM_MOE_W2_FP_MAX", "1"),
    ],
)
def test_a_good_value_passes(name: str, value: str) -> None:
    for server in knob(name).servers:
        check_knob(name, value, server)
    assert knob(name).problem(value) == ""


@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_replay_bound_below_one_ends_the_boot_of_a_v2_server(value: str) -> None:
    with pytest.raises(UsageError, match="a v2 server refuses to boot below 1"):
        check_knob("VLLM_MOE_W2_FP_MAX", value, V2)
    check_knob("VLLM_MOE_W2_FP_MAX", value, V1)
    check_knob("VLLM_MOE_W2_FP_MAX", value)


@pytest.mark.parametrize(
    ("name", "server", "reader"),
    [("VLLM_MOE_W2_CKPT_ID", V1, "v2"), ("VLLM_MOE_W2_TICK_FALLBACK_MS", V2, "v1")],
)
def test_a_knob_of_the_other_server_is_refused(name: str, server: ServerVersion, reader: str) -> None:
    with pytest.raises(UsageError, match=f"read by {reader} servers only"):
        check_knob(name, "1", server)


def test_kinds_describe_themselves() -> None:
    assert {kind.value for kind in KnobKind} >= {"0 or 1", "a whole number", "a number of GiB, or auto"}
