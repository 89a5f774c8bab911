"""Diagnoses: real logs of every cheap failure of the CPU engine, GPU and vLLM-Moet texts as they were read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.engine.failure import Ending, Failure, diagnose, restartable
from moet_boot.engine.failure_table import Basis, FailureClass, known_failures
from moet_boot.phases import Phase

LOGS = Path(__file__).parent.parent / "data" / "engine_logs"
USAGE, ARTEFACT, MEMORY = FailureClass.USAGE, FailureClass.ARTEFACT, FailureClass.MEMORY
PORT, DEVICE, CRASH = FailureClass.PORT, FailureClass.DEVICE, FailureClass.ENGINE_CRASH
HANG, UNKNOWN = FailureClass.HANG, FailureClass.UNKNOWN

REAL = [
    ("unknown_flag", 2, USAGE, "does not know these arguments: --no-such-flag 3", "unrecognized arguments"),
    ("bad_choice", 2, USAGE, "the value of --kv-cache-dtype: invalid choice: 'fp7'", "--kv-cache-dtype"),
    ("bad_int", 2, USAGE, "the value of --max-num-seqs: invalid int value: 'abc'", "--max-num-seqs"),
    ("bad_json", 2, USAGE, "--compilation-config/-cc: 1 validation error", "Invalid JSON: EOF while parsing"),
    ("bad_tool_parser", 1, USAGE, "no tool call parser nope", "chose from { apertus"),
    ("bad_reasoning_parser", 1, USAGE, "no reasoning parser nope", "Available parsers: cohere"),
    ("bad_utilization", 1, USAGE, "the server refuses its CacheConfig", "should be less than or equal to 1"),
    ("context_too_long", 1, USAGE, "--max-model-len 4096 is longer", "max_position_embeddings=512.0"),
    ("missing_dir_absolute", 1, ARTEFACT, "the model folder /no/such/model does not exist", "Repo id must be"),
    ("missing_dir_relative", 1, ARTEFACT, "neither a folder on this machine nor", "cached snapshot folder"),
    ("broken_config", 1, ARTEFACT, "m/badconfig/config.json is not valid JSON", "OSError: It looks like"),
    ("unknown_architecture", 1, ARTEFACT, "['NoSuchForCausalLM']", "are not supported for now"),
    ("no_weights", 1, ARTEFACT, "no weight file in m/noweights", "Cannot find any model weights"),
    ("truncated_shard", 1, ARTEFACT, "damaged or cut short", "incomplete metadata, file not fully covered"),
    ("missing_tensor", 1, ARTEFACT, "{'model.norm.weight'}", "were not initialized from checkpoint"),
    ("port_in_use", 1, PORT, "the port is taken", "[Errno 98] Address already in use"),
    ("kv_too_small", 1, MEMORY, "one request of --max-model-len 8000000 does not fit: 1.91 GiB", "To serve at least"),
    ("kv_over_ram", 1, MEMORY, "node 0 (5.25/6.59 GiB) is less than requested memory for kv (100.0 GiB)", "Available"),
    ("v024_context_too_long", 1, USAGE, "--max-model-len 4096 is longer", "Value error, User-specified"),
    ("v024_missing_dir_absolute", 1, ARTEFACT, "/no/such/model does not exist", "Repo id must be"),
    ("v024_bad_tool_parser", 1, USAGE, "no tool call parser nope", "chose from { apertus"),
    ("dead_enginecore", 0, CRASH, "a process of the engine died", "EngineDeadError"),
    ("dead_worker", 0, MEMORY, "a worker process was killed with SIGKILL", "(exit code: -9)"),
]


def log(name: str) -> str:
    return (LOGS / f"{name}.log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize(("name", "code", "kind", "cause", "evidence"), REAL, ids=[row[0] for row in REAL])
def test_a_real_failure(name: str, code: int, kind: FailureClass, cause: str, evidence: str) -> None:
    failure = diagnose(Ending(log=log(name), exit_code=code))
    assert failure.kind is kind
    assert cause in failure.cause
    assert evidence in (failure.evidence or "")
    assert failure.remedy in failure.sentence
    assert len(failure.evidence or "") <= 400


def test_what_is_quoted_of_a_log_has_no_secret() -> None:
    text = log("unknown_flag").replace("--no-such-flag 3", "--api-kye sk-live0123456789 --no-such-flag 3")
    failure = diagnose(Ending(log=text, exit_code=2))
    assert "--api-kye [redacted] --no-such-flag 3" in (failure.evidence or "")
    assert "--api-kye [redacted]" in failure.sentence
    assert "sk-live" not in repr(failure)


FROM_SOURCE = [
    (("ValueError: Free memory on device cuda:0 (104.46/121.69 GiB) on startup is less than desired GPU memory "
     "utilization (0.87, 105.87 GiB). Decrease GPU memory utilization"), MEMORY, "cuda:0 (104.46/121.69 GiB)"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.19 GiB. GPU 0 has", MEMORY, "GPU ran out"),
    ("RuntimeError: CUDA error: out of memory", MEMORY, "GPU ran out"),
    ("RuntimeError: Failed to load model - not enough GPU memory. Try lowering", MEMORY, "GPU ran out"),
    ("ValueError: No available memory for the cache blocks. Try increasing", MEMORY, "nothing is left for the KV"),
    ("AssertionError: Error in memory profiling. Initial free memory 90.1 GiB, current", MEMORY, "gave GPU memory back"),
    ("NVRM: nvCheckOkFailedNoLog: Out of memory [NV_ERR_NO_MEMORY] (0x51)", MEMORY, "driver could not get"),
    ("RuntimeError: [enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate", MEMORY, "ran out of memory"),
    ("OSError: [Errno 12] Cannot allocate memory", MEMORY, "machine ran out of memory"),
    ("ValueError: moe_w2 RESIDENT planes do not fit: 43 MoE layers x 1.69 GiB = 72.6 GiB of 2-bit planes vs ~70.1",
     MEMORY, "43 MoE layers x 1.69 GiB"),
    ("RuntimeError: CUDA error: no kernel image is available for execution on the device", DEVICE, "not built for this"),
    ("RuntimeError: No CUDA GPUs are available", DEVICE, "sees no GPU"),
    ("RuntimeError: Failed to infer device type, please set", DEVICE, "sees no GPU"),
    ("pynvml.NVMLError_LibRmVersionMismatch: Driver/library version mismatch", DEVICE, "driver does not fit"),
    ("RuntimeError: The NVIDIA driver on your system is too old: CUDA driver version is insufficient", DEVICE, "driver"),
    ("RuntimeError: CUDA error: uncorrectable ECC error encountered", DEVICE, "GPU failed"),
    ("RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable: devices are busy or unavailable",
     DEVICE, "GPU failed or is held"),
    ("RuntimeError: moe_w2 cubins missing or failed to load", ARTEFACT, "lacks the 2-bit kernel files"),
    ("RuntimeError: moe_w2: missing cubins in /cubit: moe_w2_mm_k4096_a32.cubin", ARTEFACT, "lacks the 2-bit kernel"),
    ("RuntimeError: moe_w2: layer 7 was loader-skipped on a planes-cache hit but the cache generation changed",
     ARTEFACT, "did not serve them"),
    ("OSError: [Errno 5] Input/output error: 'model-00007-of-00046.safetensors'", ARTEFACT, "cannot read a file"),
    ("ValueError: moe_w2 FIRE FLOOR: 400 slots < 438", USAGE, "below its floor"),
    ("ValueError: base pool 200 slots is BELOW the working-set floor 296", USAGE, "below its floor"),
    ("ValueError: PREFILL_T 96 is below the largest decode step 128", USAGE, "VLLM_MOE_W2_PREFILL_T"),
    ("ValueError: gate on but no FP4 delta tier exists", USAGE, "VLLM_MOE_W2_GATE"),
    ("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser", USAGE, "without --tool-call-parser"),
    ("OSError: [Errno 99] Cannot assign requested address", USAGE, "--host is not on this machine"),
    ("vllm serve: error: the following arguments are required: --x", USAGE, "refuses its command line"),
    ("RuntimeError: CUDA error: an illegal memory access was encountered", CRASH, "a GPU kernel crashed"),
    ("RuntimeError: moe_w2 workspace growth after graph capture: have slots=4", CRASH, "larger than the captured"),
    ("TimeoutError: Timed out waiting for engine core processes to start. This is often", HANG, "did not come up"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/model/tokenizer.json'", ARTEFACT, "/model/tokenizer.json"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kind", "cause"), FROM_SOURCE, ids=[row[0][:50] for row in FROM_SOURCE])
def test_a_text_known_from_reading_only(line: str, kind: FailureClass, cause: str) -> None:
    prefix = "(EngineCore_DP0 pid=278) ERROR 11-29 12:00:00 [core.py:1510] "
    failure = diagnose(
        Ending(log=f"INFO:     before\n{prefix}{line}\nRuntimeError: Engine core initialization failed.\n")
    )
    assert failure.kind is kind
    assert cause in failure.cause
    assert failure.evidence == line[:400]


def test_every_row_of_the_table_has_a_test() -> None:
    texts = [log(name) for name, *_ in REAL] + [row[0] for row in FROM_SOURCE]
    untested = [row.pattern.pattern for row in known_failures() if not any(row.pattern.search(t) for t in texts)]
    assert untested == []


def test_rows_said_to_come_from_runs_match_a_stored_log() -> None:
    logs = [path.read_text(encoding="utf-8", errors="replace") for path in LOGS.glob("*.log")]
    for row in known_failures():
        if row.basis is Basis.RAN:
            assert any(row.pattern.search(text) for text in logs), row.pattern.pattern


class TestPrecedence:
    def test_the_first_known_cause_wins_over_its_consequences(self) -> None:
        text = log("truncated_shard")
        assert "Engine core initialization failed" in text
        assert "SafetensorError" in diagnose(Ending(log=text, exit_code=1)).evidence  # type: ignore[operator]

    def test_the_guard_is_named_and_the_log_is_only_evidence(self) -> None:
        failure = diagnose(Ending(log=log("truncated_shard"), signal=9, stopped_by_guard=True))
        assert (failure.kind, failure.cause) == (MEMORY, "the memory guard stopped the server")
        assert "SafetensorError" in (failure.evidence or "")

    def test_the_oom_killer_explains_what_the_log_does_not(self) -> None:
        failure = diagnose(Ending(log="EngineDeadError: EngineCore encountered an issue", exit_code=0, oom_killed=True))
        assert (failure.kind, failure.cause) == (MEMORY, "the kernel's OOM killer ended the server before it was ready")
        assert diagnose(Ending(log=log("port_in_use"), oom_killed=True)).kind is PORT

    def test_a_hang_names_phase_and_last_line(self) -> None:
        failure = diagnose(Ending(log="Loading weights\n(Worker pid=1) waiting for shard 48\n", hung_in=Phase.PLANES))
        assert failure.kind is HANG
        assert "'reading planes'" in failure.cause
        assert failure.evidence == "waiting for shard 48"

    def test_a_hang_with_a_known_cause_is_that_cause(self) -> None:
        assert diagnose(Ending(log=log("truncated_shard"), hung_in=Phase.LOADING_WEIGHTS)).kind is ARTEFACT

    def test_a_server_that_generates_nothing_hangs(self) -> None:
        failure = diagnose(Ending(hung_in=Phase.SERVING, was_ready=True))
        assert (failure.kind, failure.evidence) == (HANG, None)
        assert "generates no token" in failure.cause


@pytest.mark.parametrize(
    ("ending", "kind", "words"),
    [
        (Ending(signal=9), MEMORY, "SIGKILL before it was ready, most likely for memory"),
        (Ending(signal=9, was_ready=True), MEMORY, "SIGKILL while it served"),
        (Ending(exit_code=137), MEMORY, "SIGKILL"),
        (Ending(signal=11), CRASH, "crashed with SIGSEGV"),
        (Ending(signal=6), CRASH, "crashed with SIGABRT"),
        (Ending(exit_code=139), CRASH, "crashed with SIGSEGV"),
        (Ending(signal=15), UNKNOWN, "SIGTERM ended the server, and moet-boot did not send it"),
        (Ending(signal=40), UNKNOWN, "signal 40 ended the server"),
        (Ending(exit_code=2), USAGE, "refused its command line"),
        (Ending(exit_code=0, was_ready=True), UNKNOWN, "exit code 0, which nobody asked for"),
        (Ending(exit_code=3), UNKNOWN, "exit code 3"),
        (Ending(exit_code=126), USAGE, "program cannot be run (exit code 126)"),
        (Ending(exit_code=127, log="x: Exec format error"), USAGE, "program cannot be run (exit code 127)"),
        (Ending(exit_code=1, log="x\nValueError: strange\n"), UNKNOWN, "exit code 1 (ValueError: strange)"),
        (Ending(), UNKNOWN, "gave no reason"),
    ],
    ids=str,
)
def test_what_the_status_alone_tells(ending: Ending, kind: FailureClass, words: str) -> None:
    failure = diagnose(ending)
    assert failure.kind is kind
    assert words in failure.cause
    assert failure.remedy


class TestWhatIsNoEvidence:
    @pytest.mark.parametrize(
        "line",
        [
            (
                "(APIServer pid=1) WARNING 11-29 15:22:37 [model.py:2660] User-specified max_model_len (8) is greater than the "
                "derived max_model_len (x)"
            ),
            "(EngineCore pid=1) WARNING 11-29 15:22:37 [parallel.py:746] OSError: [Errno 98] Address already in use. Retrying",
            'INFO:     127.0.0.1:1 - "POST /CUDA out of memory HTTP/1.1" 200 OK',
            "    raise OSError(f\"It looks like the config file at '{path}' is not a valid JSON file.\")",
            '  File "/engine/lib/x.py", line 3, in OutOfMemoryError',
        ],
        ids=["warning", "retry", "access log", "quoted source", "traceback"],
    )
    def test_talk_and_quoted_source(self, line: str) -> None:
        assert diagnose(Ending(log=line, exit_code=1)).kind is UNKNOWN

    @pytest.mark.parametrize("name", ["boot_eager", "boot_compile"])
    def test_a_healthy_log_explains_no_failure(self, name: str) -> None:
        assert diagnose(Ending(log=log(name), exit_code=5)).kind is UNKNOWN

    @given(st.text())
    def test_any_text_gets_some_diagnosis(self, text: str) -> None:
        failure = diagnose(Ending(log=text, exit_code=1))
        assert failure.sentence
        assert len(failure.evidence or "") <= 400


@pytest.mark.parametrize("kind", FailureClass)
def test_restarts(kind: FailureClass) -> None:
    assert restartable(kind, was_ready=True)
    assert restartable(kind, was_ready=False) is (kind not in {USAGE, ARTEFACT, MEMORY})


def test_a_sentence_names_cause_and_remedy() -> None:
    assert Failure(PORT, "taken", "choose another").sentence == "taken: choose another"
