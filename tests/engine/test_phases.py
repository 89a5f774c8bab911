"""Phases from the log: real logs of the CPU engine, GPU and vLLM-Moet wording, and everything that may go wrong."""

import random
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.engine.phases import MARKERS, PhaseTracker, PlaneCounts, Progress, classify
from moet_boot.phases import Phase

LOGS = Path(__file__).parent.parent / "data" / "engine_logs"
CPU_BOOT = [Phase.LOADING_WEIGHTS, Phase.KV_CACHE, Phase.WARM_UP]
COMPILED_BOOT = [Phase.LOADING_WEIGHTS, Phase.PROFILING, Phase.KV_CACHE, Phase.WARM_UP]

GPU = "(EngineCore_DP0 pid=387) INFO 03-08 16:44:28 "
LINES = [
    ("version 0.32.0", None),
    ("(EngineCore pid=9) INFO 11-29 15:25:18 [core.py:133] Initializing a V1 LLM engine (v0.24.0) with", Phase.STARTING),
    ("(Worker pid=9) INFO 11-29 15:25:00 [cpu_model_runner.py:68] Starting to load model m/ok...", Phase.LOADING_WEIGHTS),
    (GPU + "[model_runner.py:392] Loading model from scratch...", Phase.LOADING_WEIGHTS),
    ("Loading safetensors checkpoint shards:  33% Completed | 1/3 [00:24<00:49, 24.61s/it]", Phase.LOADING_WEIGHTS),
    ("Loading pt checkpoint shards: 100% Completed | 3/3 [00:24<00:49, 24.61s/it]", Phase.LOADING_WEIGHTS),
    ("Multi-thread loading shards:  50% Completed | 1/2 [00:24<00:49, 24.61s/it]", Phase.LOADING_WEIGHTS),
    ("INFO 11-29 [moe_w2.py:1] moe_w2 LOADER-SKIP armed: pack-resident expert layers are", Phase.LOADING_WEIGHTS),
    (GPU + "[default_loader.py:384] Loading weights took 24.84 seconds", Phase.LOADING_WEIGHTS),
    ("INFO 11-29 [moe_w2.py:1] moe_w2: layer 7 planes from cache", Phase.PLANES),
    ("INFO 11-29 [moe_w2.py:1] moe_w2: layer 7 planes built (1.69 GiB)", Phase.PLANES),
    ("INFO 11-29 [moe_w2.py:1] moe_w2: layer 7 requant SKIPPED — base serving from pack (boot-from-pack)", Phase.PLANES),
    ("INFO 11-29 [moe_w2.py:1] moe_w2: layer 7 planes HOST-staged (base cache, 1.69 GiB pinned)", Phase.PLANES),
    (GPU + "[gpu_model_runner.py:4879] Model loading took 12.66 GiB memory and 31.657031 seconds", Phase.PROFILING),
    (GPU + "[backends.py:1128] Dynamo bytecode transform time: 3.54 s", Phase.PROFILING),
    (GPU + "[gpu_model_runner.py:6681] Profiling CUDA graph memory: PIECEWISE=16 (largest=16)", Phase.PROFILING),
    ("(Worker pid=9) INFO 11-29 15:25:26 [c.py:87] Warming up model for the compilation...", Phase.PROFILING),
    (GPU + "[gpu_worker.py:456] Available KV cache memory: 17.36 GiB", Phase.KV_CACHE),
    (GPU + "[kv_cache_utils.py:1314] GPU KV cache size: 188,640 tokens", Phase.KV_CACHE),
    ("(EngineCore pid=9) INFO 11-29 15:25:00 [k.py:2327] CPU KV cache size: 4,194,304 tokens, Maximum", Phase.KV_CACHE),
    (GPU + "[g.py:1] Initial free memory 9 GiB, reserved 3 GiB memory for KV Cache ... skipped memory profiling.", Phase.KV_CACHE),
    ("2026-03-08 - INFO - flashinfer.jit: [Autotuner]: Autotuning process starts ...", Phase.GRAPH_CAPTURE),
    ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|##########| 11/11", Phase.GRAPH_CAPTURE),
    (GPU + "[gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.31 GiB", Phase.WARM_UP),
    ("[core.py:402] init engine (profile, create kv cache, warmup model) took 2.90 s", Phase.WARM_UP),
    ("INFO 10-06 12:00:41 [api_server.py:1971] Starting vLLM API server 0 on http://0.0.0.0:8000", Phase.WARM_UP),
    ("(APIServer pid=9) INFO 11-29 15:25:04 [entry.py:140] Starting vLLM server on http://[::1]:1", Phase.WARM_UP),
    ("INFO:     Application startup complete.", Phase.WARM_UP),
    ('INFO:     127.0.0.1:46474 - "GET /health HTTP/1.1" 200 OK', None),
    (GPU + "[kernel_warmup.py:98] Warming up ll_bf16 router GEMM kernels for shapes: [1].", None),
    ("\x1b[32mINFO\x1b[0m 11-29 [x.py:1] Starting\x1b[0m to load model m...", Phase.LOADING_WEIGHTS),
    ("", None),
    ("x" * 1_000_000, None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "phase"), LINES, ids=[line[:60] for line, _ in LINES])
def test_one_line(line: str, phase: Phase | None) -> None:
    assert classify(line) is phase
    assert classify(line.encode()) is phase


@pytest.mark.parametrize(
    ("name", "phases"),
    [
        ("boot_eager", CPU_BOOT),
        ("boot_compile", COMPILED_BOOT),
        ("dead_worker", CPU_BOOT),
        ("kv_too_small", [Phase.LOADING_WEIGHTS]),
        ("truncated_shard", [Phase.LOADING_WEIGHTS]),
        ("context_too_long", []),
        ("unknown_flag", []),
    ],
)
def test_a_real_log(name: str, phases: list[Phase]) -> None:
    tracker = PhaseTracker()
    assert tracker.feed((LOGS / f"{name}.log").read_bytes()) == phases
    assert tracker.listening is (Phase.WARM_UP in phases)


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_cut_anywhere_it_is_the_same_boot(size: int) -> None:
    log = (LOGS / "boot_compile.log").read_bytes()
    tracker = PhaseTracker()
    entered = [phase for at in range(0, len(log), size) for phase in tracker.feed(log[at : at + size])]
    assert entered == COMPILED_BOOT
    assert tracker.shards == Progress("shards", 1, 1)
    assert tracker.listening


def moet_boot_log(layers: int = 43) -> bytes:
    lines = ["[moe_w2.py:410] moe_w2 LOADER-SKIP armed: pack-resident (first: key 0)"]
    lines += [
        f"\rLoading safetensors checkpoint shards: {n * 100 // 46:3d}% Completed | {n}/46 [00:00]" for n in range(47)
    ]
    for layer in range(layers):
        lines += [f"moe_w2: layer {layer} planes built (1.69 GiB)", f"moe_w2: layer {layer} planes from cache"]
    lines += ["Model loading took 71.2 GiB memory and 41.5 seconds", "Available KV cache memory: 6.87 GiB"]
    lines += [
        "Capturing CUDA graphs (decode, FULL): 100%|####| 4/4",
        "Graph capturing finished in 1 secs, took 0.06 GiB",
    ]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("size", [1, 33, 161, 100_000])
def test_layers_are_counted_once_however_the_log_is_cut(size: int) -> None:
    log = moet_boot_log()
    tracker = PhaseTracker()
    entered = [phase for at in range(0, len(log), size) for phase in tracker.feed(log[at : at + size])]
    assert entered == [
        Phase.LOADING_WEIGHTS, Phase.PLANES, Phase.PROFILING, Phase.KV_CACHE, Phase.GRAPH_CAPTURE, Phase.WARM_UP
    ]  # fmt: skip
    assert tracker.planes == PlaneCounts(skip_armed=1, from_cache=43, built=43)
    assert tracker.planes.layers == 43


@pytest.mark.parametrize(
    ("line", "counts", "layers"),
    [
        ("moe_w2: layer 3 requant SKIPPED — base serving from pack", PlaneCounts(from_pack=1), 1),
        ("moe_w2: layer 3 planes HOST-staged (base cache, 1.69 GiB pinned)", PlaneCounts(host_staged=1), 1),
        ("moe_w2: layer 3 planes built (1.69 GiB)", PlaneCounts(built=1), 1),
        ("moe_w2 store: identity/shape mismatch", PlaneCounts(rejected=1), 0),
        ("planes cache: MISS for layer 3", PlaneCounts(rejected=1), 0),
        ("ignoring incomplete/stale pack generation", PlaneCounts(rejected=1), 0),
    ],
)
def test_what_the_moet_server_says_of_its_planes(line: str, counts: PlaneCounts, layers: int) -> None:
    tracker = PhaseTracker()
    tracker.feed(line.encode() + b"\n")
    assert tracker.planes == counts
    assert tracker.planes.layers == layers


def test_progress_belongs_to_the_present_phase() -> None:
    tracker = PhaseTracker()
    assert not tracker.progress
    tracker.feed(b"\rLoading safetensors checkpoint shards:  10% Completed | 5/46 [00:01<")
    assert tracker.progress == Progress("shards", 5, 46)
    tracker.feed(b"00:02]\rLoading safetensors checkpoint shards: 100% Completed | 46/46 [00:02]\n")
    assert tracker.progress == Progress("shards", 46, 46)
    tracker.feed(b"moe_w2: layer 0 planes built (1.69 GiB)\n")
    assert tracker.progress == Progress("layers", 1)
    tracker.feed(b"Model loading took 71 GiB\n")
    assert tracker.progress is None


def test_it_never_goes_back() -> None:
    tracker = PhaseTracker()
    tracker.feed(b"Available KV cache memory: 6 GiB\n")
    assert tracker.feed(b"Starting to load model drafter...\nModel loading took 1 GiB\n") == []
    assert tracker.phase is Phase.KV_CACHE


def test_no_line_announces_serving() -> None:
    tracker = PhaseTracker()
    tracker.feed((LOGS / "boot_eager.log").read_bytes())
    assert tracker.phase.value == "warm_up"
    tracker.serving()
    assert tracker.phase.value == "serving"
    assert tracker.feed(b"Graph capturing finished\n") == []
    assert tracker.phase.value == "serving"


def test_colours_even_when_they_are_cut() -> None:
    tracker = PhaseTracker()
    assert tracker.feed(b"\x1b[1mStarting \x1b[3") == []
    assert tracker.feed(b"2mto load model m\x1b[0m\n") == [Phase.LOADING_WEIGHTS]


@given(st.lists(st.binary(max_size=300) | st.sampled_from([marker for marker, _ in MARKERS]), max_size=20))
def test_any_bytes_keep_it_monotone(chunks: list[bytes]) -> None:
    tracker = PhaseTracker()
    orders = [tracker.phase.order]
    for chunk in chunks:
        orders += [phase.order for phase in tracker.feed(chunk)]
        assert tracker.phase.order == orders[-1]
    assert orders == sorted(set(orders))


def test_a_flood_costs_a_search_for_each_text_and_nothing_for_each_line() -> None:
    """100 MB of log a minute is 1.7 MB a second, about 20,000 lines: the work must not depend on the lines."""
    one_line = b"x" * (1 << 20)
    many_lines = b"".join(b"INFO %d something happened\n" % random.randrange(10**9) for _ in range(30_000))[: 1 << 20]
    assert calls_of_one_feed(many_lines) == calls_of_one_feed(one_line) < 80


def calls_of_one_feed(chunk: bytes) -> int:
    """How many functions, Python's and C's, one `feed` calls."""
    tracker = PhaseTracker()
    tracker.feed(b"warm")
    calls = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        tracker.feed(chunk)
    finally:
        sys.setprofile(before)
    return calls
