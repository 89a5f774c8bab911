"""Reading traces: field cases as they are, and one clear error for everything else."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import MoetBootError, UsageError
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import SpoolWriter
from moet_boot.guard.trace import TracePoint, load_trace
from moet_boot.phases import Phase
from moet_boot.units import from_gib
from tests.guard.scenes import look

FULL = {
    "t_s": 9,
    "mem_available_gib": 10.5,
    "mem_free_gib": 1.25,
    "swap_used_gib": 0.5,
    "psi_full_avg10": 3,
    "phase": "load 3/120",
    "note": "for people",
}


def write(tmp_path: Path, body: Any) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


def test_all_figures(tmp_path: Path) -> None:
    (point,) = load_trace(write(tmp_path, [FULL]))
    assert point == TracePoint(Sample(9.0, from_gib(10.5), from_gib(1.25), from_gib(0.5), 3.0), "load 3/120")


def test_whatever_is_missing_is_unknown(tmp_path: Path) -> None:
    (point,) = load_trace(write(tmp_path, [{"t_s": 0, "mem_free_gib": None}]))
    assert point == TracePoint(Sample(0.0, None))


def test_a_document_with_a_trace(tmp_path: Path) -> None:
    assert len(load_trace(write(tmp_path, {"id": "x", "boot_trace": [FULL, FULL]}))) == 2


def test_a_spool(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "spool", capacity=8)
    writer.append(look(1.0, 5), Phase.KV_CACHE)
    writer.append(look(2.0, 4))
    assert [(p.sample.t_s, p.phase) for p in load_trace(tmp_path / "spool")] == [(1.0, Phase.KV_CACHE), (2.0, None)]


@pytest.mark.parametrize(
    ("label", "phase"),
    [
        (None, None),
        ("", None),
        ("load", Phase.LOADING_WEIGHTS),
        ("loading_weights", Phase.LOADING_WEIGHTS),
        ("load 46/120", Phase.LOADING_WEIGHTS),
        ("planes", Phase.PLANES),
        ("profile", Phase.PROFILING),
        ("profiling", Phase.PROFILING),
        ("kv_cache/graph_capture", Phase.KV_CACHE),
        ("Graph capture", Phase.GRAPH_CAPTURE),
        ("warm-up", Phase.WARM_UP),
        ("starting", Phase.STARTING),
        ("anything else", Phase.STARTING),
        ("ready", Phase.SERVING),
        ("Serving", Phase.SERVING),
        ("warm-up, then ready", Phase.SERVING),
    ],
)
def test_labels(label: str | None, phase: Phase | None) -> None:
    assert TracePoint(look(0, 1), label).phase is phase


BAD = {
    "not JSON": ("{", "is not JSON"),
    "not UTF-8": ('["\udcff"]', "is not JSON"),
    "a number": ("3", "has no samples"),
    "null": ("null", "has no samples"),
    "no samples": ([], "has no samples"),
    "no trace": ({"id": "x"}, "has no samples"),
    "a trace that is no list": ({"boot_trace": {"t_s": 1}}, "has no samples"),
    "a sample that is no object": ([FULL, 7], "sample 1 is 7, expected an object"),
    "no time": ([{"mem_available_gib": 1}], "sample 0 has no t_s"),
    "time goes back": ([{"t_s": 2}, {"t_s": 1}], "sample 1: time goes back from 2 to 1 s"),
    "text for a number": ([{"t_s": 0, "mem_available_gib": "8"}], "mem_available_gib is '8'"),
    "true for a number": ([{"t_s": True}], "t_s is True"),
    "negative memory": ([{"t_s": 0, "mem_free_gib": -1}], "mem_free_gib is -1"),
    "a petabyte and more": ([{"t_s": 0, "mem_available_gib": 1e9}], "mem_available_gib is 1000000000.0"),
    "not a number": ('[{"t_s": NaN}]', "t_s is nan"),
    "infinite": ('[{"t_s": 0, "swap_used_gib": 1e999}]', "swap_used_gib is inf"),
    "more than everything stalled": ([{"t_s": 0, "psi_full_avg10": 101}], "psi_full_avg10 is 101"),
    "a phase that is no text": ([{"t_s": 0, "phase": 3}], "phase is 3"),
    "brackets without end": ("[" * 100_000, "is not JSON"),
    "a huge whole number": ([{"t_s": 0, "mem_available_gib": 10**400}], "mem_available_gib is 1000"),
}


@pytest.mark.parametrize(("body", "words"), BAD.values(), ids=BAD.keys())
def test_one_clear_error(tmp_path: Path, body: Any, words: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes((body if isinstance(body, str) else json.dumps(body)).encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as error:
        load_trace(path)
    assert words in error.value.what
    assert "trace.json" in error.value.what
    assert error.value.fix


@pytest.mark.parametrize("name", ["missing.json", "."], ids=["missing", "a folder"])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read the trace"):
        load_trace(tmp_path / name)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(UsageError, match="larger than any trace"):
        load_trace(path)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(FULL)), inner, max_size=7),
    max_leaves=12,
)


@settings(deadline=None)
@given(ANYTHING)
def test_anything_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, body: Any) -> None:
    path = write(tmp_path_factory.getbasetemp(), body)
    try:
        points = load_trace(path)
    except MoetBootError:
        return
    assert all(a.sample.t_s <= b.sample.t_s for a, b in pairwise(points))
