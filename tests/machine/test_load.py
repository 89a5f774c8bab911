import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.exits import Exit
from moet_boot.machine.load import MAX_BYTES, load_snapshot
from moet_boot.machine.save import as_json, save_snapshot
from moet_boot.machine.snapshot import SCHEMA, Snapshot

FIELD = Path(__file__).parents[1] / "data" / "field"
CASES = sorted(FIELD.glob("*.json"))
MEMINFO = {"MemTotal": 1000, "MemFree": 400, "MemAvailable": 700}


def written(folder: Path, document: object) -> Path:
    file = folder / "case.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return file


def refusal(file: Path | str) -> str:
    with pytest.raises(UsageError) as caught:
        load_snapshot(file)
    assert caught.value.code is Exit.USAGE
    assert caught.value.fix
    assert "\n" not in str(caught.value)
    return caught.value.what


def test_there_are_34_field_cases() -> None:
    assert len(CASES) == 34


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_field_case_loads_with_its_figures(case: Path) -> None:
    recorded = json.loads(case.read_text())["snapshot"]
    snapshot = load_snapshot(case)
    assert snapshot.meminfo is not None
    assert snapshot.meminfo.mem_available == recorded["meminfo"]["MemAvailable"]
    assert snapshot.arch == recorded["arch"]
    assert snapshot.sysctl == recorded["sysctl"]
    assert snapshot.nvml is not None
    assert [gpu.name for gpu in snapshot.nvml.gpus] == [gpu["name"] for gpu in recorded["nvml"]["gpus"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_no_key_of_a_field_case_is_unknown_to_the_model(case: Path) -> None:
    recorded = json.loads(case.read_text())["snapshot"]
    unread = {"Active", "Inactive", "Active(anon)", "Inactive(anon)"}
    dumped = load_snapshot(case).model_dump(mode="json", by_alias=True)
    assert lost(recorded, dumped) <= {f"meminfo.{name}" for name in unread}


def lost(recorded: Any, dumped: Any, where: str = "") -> set[str]:
    if isinstance(recorded, dict):
        return set().union(
            *(
                lost(value, dumped[key], f"{where}.{key}".lstrip(".")) if key in dumped else {f"{where}.{key}"}
                for key, value in recorded.items()
            )
        )
    if isinstance(recorded, list):
        assert len(recorded) == len(dumped)
        return set().union(*(lost(a, b, where) for a, b in zip(recorded, dumped, strict=True)))
    return set() if recorded == dumped else {where}


def test_a_saved_snapshot_loads_as_it_was(tmp_path: Path) -> None:
    snapshot = load_snapshot(CASES[0])
    saved = save_snapshot(snapshot, tmp_path / "copy.json")
    assert load_snapshot(saved) == snapshot


def test_a_bare_snapshot_and_a_wrapped_one_are_the_same(tmp_path: Path) -> None:
    bare = load_snapshot(written(tmp_path, {"schema": SCHEMA, "meminfo": MEMINFO}))
    wrapped = load_snapshot(written(tmp_path, {"schema": "x/receipt/v9", "snapshot": {"meminfo": MEMINFO}}))
    assert bare.meminfo == wrapped.meminfo


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "bom.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"meminfo": MEMINFO}).encode())
    assert load_snapshot(file).meminfo is not None


@pytest.mark.parametrize(
    ("document", "named"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param(" \n", "empty", id="blank"),
        pytest.param('{"meminfo": {\n "MemTotal": }', "line 2, column 14", id="not-json"),
        pytest.param("MemTotal: 5 kB", "line 1, column 1", id="the-wrong-format"),
        pytest.param("[1]", "a list, not an object", id="list"),
        pytest.param('"text"', "a string, not an object", id="string"),
        pytest.param("null", "null, not an object", id="null"),
        pytest.param("12", "a number, not an object", id="number"),
        pytest.param("{}", "no keys at all", id="no-keys"),
        pytest.param({"name": "x", "title": "y"}, "seen: name, title", id="no-group"),
        pytest.param({"schema": SCHEMA}, "no group", id="schema-only"),
        pytest.param({"snapshot": None}, "`snapshot` is null", id="null-snapshot"),
        pytest.param({"snapshot": {}}, "no keys at all", id="empty-snapshot"),
        pytest.param({"schema": "moet-boot/snapshot/v2", "arch": "x"}, "snapshot/v2", id="future-schema"),
        pytest.param({"snapshot": {"schema": 2, "arch": "x"}}, "schema is 2", id="schema-of-a-wrong-type"),
        pytest.param('{"uptime_s": NaN}', "NaN", id="nan"),
        pytest.param('{"uptime_s": 1e999}', "uptime_s", id="infinity"),
        pytest.param('{"cpus": ' + "9" * 5000 + "}", "digits", id="a-number-of-5000-digits"),
        pytest.param('{"cpus": 184467440737095516160}', "21 digits", id="a-number-that-no-kernel-holds"),
        pytest.param('{"arch": "x", "arch": "y"}', "the key arch is there twice", id="a-key-twice"),
        pytest.param(
            '{"meminfo": {"MemTotal": 9, "MemFree": 1, "MemAvailable": 1, "MemAvailable": 9}}',
            "the key MemAvailable is there twice",
            id="a-figure-twice",
        ),
        pytest.param('{"arch": "\\ud800"}', "\\ud800 is half a character", id="half-a-character"),
        pytest.param('{"arch": "x", "\\udfff": 1}', "\\udfff is half a character", id="half-a-character-in-a-key"),
        pytest.param(
            {"schema": "moet-boot/snapshot/v2", "snapshot": {"arch": "x"}}, "snapshot/v2", id="future-schema-outside"
        ),
        pytest.param("[" * 100_000, "nested", id="nested-too-deeply"),
    ],
)
def test_a_document_that_is_no_snapshot(tmp_path: Path, document: object, named: str) -> None:
    file = written(tmp_path, document)
    what = refusal(file)
    assert str(file) in what
    assert named in what


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"meminfo": {**MEMINFO, "MemFree": -1}}, "meminfo.MemFree", id="negative"),
        pytest.param({"meminfo": {**MEMINFO, "MemTotal": 0}}, "meminfo.MemTotal", id="no-memory"),
        pytest.param({"meminfo": {**MEMINFO, "MemTotal": 2**41}}, "meminfo.MemTotal", id="over-1-PiB"),
        pytest.param({"meminfo": {**MEMINFO, "MemFree": 1001}}, "meminfo: MemFree is 1001", id="free-over-total"),
        pytest.param({"meminfo": {**MEMINFO, "MemAvailable": 1001}}, "MemAvailable is 1001", id="avail-over-total"),
        pytest.param({"meminfo": {**MEMINFO, "HugePages_Total": 9}}, "HugePages_Total", id="pool-over-total"),
        pytest.param({"meminfo": {**MEMINFO, "SwapFree": 9}}, "SwapFree is 9", id="swap-free-over-total"),
        pytest.param({"meminfo": {"MemFree": 1}}, "meminfo.MemTotal: Field required", id="total-missing"),
        pytest.param({"meminfo": {**MEMINFO, "MemFree": "400"}}, "meminfo.MemFree", id="text-for-a-number"),
        pytest.param({"meminfo": {**MEMINFO, "MemFree": True}}, "meminfo.MemFree", id="boolean-for-a-number"),
        pytest.param({"meminfo": {**MEMINFO, "MemFree": 1.5}}, "meminfo.MemFree", id="fraction-of-a-kB"),
        pytest.param({"meminfo": [1]}, "meminfo", id="list-for-a-group"),
        pytest.param({"swaps": [{"dev": "/s", "size_kb": 1, "used_kb": -1}]}, "swaps.0.used_kb", id="row-of-a-list"),
        pytest.param({"swaps": [{"dev": "/s", "size_kb": 1, "used_kb": 2}]}, "used_kb is 2", id="swap-over-its-size"),
        pytest.param({"swaps": {"dev": "/s"}}, "swaps", id="object-for-a-list"),
        pytest.param({"cpus": 1 << 63}, "cpus", id="more-than-a-kernel-counts"),
        pytest.param({"ports_in_use": [{"port": 65_536}]}, "ports_in_use.0.port", id="port-over-its-range"),
        pytest.param({"ports_in_use": [{"port": -1}]}, "ports_in_use.0.port", id="negative-port"),
        pytest.param({"pressure": {"memory": {"full_avg10": 130.0}}}, "pressure.memory.full_avg10", id="over-100-pct"),
        pytest.param({"buddyinfo": {"page_kb": 0, "zone": "N", "free_blocks_by_order": []}}, "page_kb", id="page-0"),
        pytest.param(
            {"buddyinfo": {"page_kb": 4096, "zone": "N", "free_blocks_by_order": []}}, "page_kb", id="page-of-4-MiB"
        ),
        pytest.param(
            {"buddyinfo": {"page_kb": 4, "zone": "N", "free_blocks_by_order": [1] * 33}}, "free_blocks", id="33-orders"
        ),
        pytest.param({"cgroup": {"version": 2, "memory_max": "lots"}}, "cgroup.memory_max", id="limit-in-words"),
        pytest.param({"cgroup": {"version": 2, "memory_max": -1}}, "cgroup.memory_max", id="negative-limit"),
        pytest.param({"fs": {"model": {"path": 5}}}, "fs.model.path", id="path-of-a-wrong-type"),
        pytest.param({"uptime_s": -5}, "uptime_s", id="negative-uptime"),
        pytest.param({"sysctl": {"vm.swappiness": "60"}}, "sysctl.vm.swappiness", id="sysctl-as-text"),
        pytest.param(
            {"nvml": {"init": "OK", "gpus": [{"index": 0, "memory": {"total": -5}}]}}, "gpus.0.memory", id="vram"
        ),
    ],
)
def test_figures_that_no_machine_shows(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    file = written(tmp_path, {"snapshot": {"arch": "aarch64", **change}})
    what = refusal(file)
    assert what.startswith(f"{file}: snapshot.")
    assert named in what


def test_free_cma_above_its_total_is_a_fact_not_an_error(tmp_path: Path) -> None:
    snapshot = load_snapshot(written(tmp_path, {"meminfo": {**MEMINFO, "CmaTotal": 0, "CmaFree": 40}}))
    assert snapshot.meminfo is not None
    assert snapshot.meminfo.cma_free == 40


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no such snapshot file" in refusal(tmp_path / "absent.json")


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert "not a regular file" in refusal(fifo)


def test_a_file_of_1_gib_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "big.json"
    with file.open("wb") as stream:
        stream.truncate(1 << 30)
    assert "1.00 GiB is too large" in refusal(file)


def test_the_limit_itself_is_read(tmp_path: Path) -> None:
    body = json.dumps({"arch": "x86_64"}).encode()
    file = tmp_path / "edge.json"
    file.write_bytes(body + b" " * (MAX_BYTES - len(body)))
    assert load_snapshot(file).arch == "x86_64"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, {"arch": "x"})

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    assert "Permission denied" in refusal(file)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "latin.json"
    file.write_bytes(b'{"arch": "\xff"}')
    assert "byte 10 is not UTF-8" in refusal(file)


def test_a_path_with_a_null_byte() -> None:
    assert "cannot be read" in refusal("a\0b")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NO_FIXTURE_CHECK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)


@NO_FIXTURE_CHECK
@given(content=st.binary(max_size=60))
@example(content=b"{")
@example(content=b'{"arch":null}')
def test_any_bytes_are_a_snapshot_or_one_clear_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "fuzz.json"
    file.write_bytes(content)
    assert loads_or_refuses(file)


@NO_FIXTURE_CHECK
@given(group=st.sampled_from(sorted(set(Snapshot.model_fields) - {"schema_"})), value=JSON)
def test_any_value_of_any_group_is_a_snapshot_or_one_clear_line(tmp_path: Path, group: str, value: object) -> None:
    assert loads_or_refuses(written(tmp_path, {"snapshot": {group: value}}))


@NO_FIXTURE_CHECK
@given(data=st.data())
def test_a_damaged_field_case_is_a_snapshot_or_one_clear_line(tmp_path: Path, data: st.DataObject) -> None:
    document = json.loads(data.draw(st.sampled_from(CASES)).read_text())
    node: Any = document["snapshot"]
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node)))))
        inner = node[key]
        if not (isinstance(inner, (dict, list)) and inner) or data.draw(st.booleans()):
            break
        node = inner
    node[key] = data.draw(JSON)
    assert loads_or_refuses(written(tmp_path, document))


def loads_or_refuses(file: Path) -> bool:
    """Whether it is read and survives a round trip, or is refused in one line that names it."""
    try:
        snapshot = load_snapshot(file)
    except UsageError as refused:
        return str(file) in refused.what and refused.what.isprintable()
    return Snapshot.model_validate_json(as_json(snapshot)) == snapshot
