"""The guarded boot of a real vLLM on CPU: how it boots, and every way in which it is known to end.

Each test boots it once or twice, 30 to 60 s each on two cores.
"""

import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest

from moet_boot.phases import Phase
from tests.scripted_engine.start import free_port
from tests.serve.scripted import Serve, gone, last_receipt, running, wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(420)]

BOOT_S = 240.0
ONCE = """
schema = "moet-boot/profile/v1"
extends = "demo"
name = "once"
[restart]
budget = 0
"""
Start = Callable[..., AbstractContextManager[Serve]]


@pytest.fixture
def start(tmp_path: Path, engine: Path, model: Path) -> Start:
    """Starts `serve` with the demo, without restarts, on a port of its own."""

    profile = tmp_path / "once.toml"
    profile.write_text(ONCE, encoding="utf-8")

    @contextmanager
    def started(
        *arguments: str, checkpoint: Path = model, port: int | None = None, sets: tuple[str, ...] = ()
    ) -> Iterator[Serve]:
        chosen = port or free_port()
        options = ["--engine", str(engine), "--path", f"checkpoint={checkpoint}", "--set", f"port={chosen}"]
        options += [word for key in sets for word in ("--set", key)]
        env = {"VLLM_CACHE_ROOT": str(tmp_path / "cache")} if not (engine.parents[2] / "cache").exists() else {}
        with running(Serve(tmp_path, str(profile), chosen, [*options, *arguments], env)) as run:
            yield run

    return started


def ready(run: Serve) -> list[int]:
    """Wait for readiness; the pids of the engine's processes."""
    wait_until(lambda: any(e["event"] == "ready" for e in run.events) or run.process.poll() is not None, BOOT_S)
    assert run.process.poll() is None, run.words
    return run.engine_pids()


def named(pids: list[int], name: str) -> psutil.Process:
    """The one process whose kernel name begins so."""
    found = [p for p in map(psutil.Process, pids) if p.name().startswith(name)]
    assert len(found) == 1, [p.name() for p in map(psutil.Process, pids)]
    return found[0]


def segments() -> set[Path]:
    """What lies in shared memory."""
    return set(Path("/dev/shm").iterdir())


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    return True


def test_boot_answer_and_clean_stop(start: Start) -> None:
    before = segments()
    with start() as run:
        pids = ready(run)
        with httpx2.Client(base_url=f"http://127.0.0.1:{run.port}", trust_env=False) as client:
            body = {"model": "tiny-moe", "prompt": "1 2 3", "max_tokens": 4}
            assert client.post("/v1/completions", json=body, timeout=60).status_code == 200
        code, document = run.stop()
    assert (code, document["outcome"]) == (143, "stopped")
    assert gone(pids)
    assert port_is_free(run.port)
    assert segments() <= before
    attempt = last_receipt().attempts[0]
    seen = [p.phase for p in attempt.phases]
    assert seen == sorted(seen, key=lambda p: p.order)
    assert {Phase.STARTING, Phase.LOADING_WEIGHTS, Phase.KV_CACHE, Phase.SERVING} <= set(seen)
    assert attempt.ready_after_s
    assert len(attempt.curve) > 10


def test_a_killed_api_process_leaves_no_orphans(start: Start) -> None:
    before = segments()
    with start() as run:
        pids = ready(run)
        named(pids, "vllm").kill()
        code, document = run.end(60)
    assert (code, document["outcome"]) == (11, "died"), run.words
    assert gone(pids)
    assert segments() <= before


def test_a_dead_engine_behind_exit_code_zero_is_seen(start: Start) -> None:
    with start() as run:
        pids = ready(run)
        named(pids, "VLLM::EngineCor").kill()
        code, _ = run.end(90)
    assert code == 11, run.words
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert failure.kind == "engine_crash"
    assert gone(pids)


@pytest.mark.parametrize("after", ["loading_weights", "begin"], ids=["while the engine starts", "while it imports"])
def test_a_term_in_the_boot_ends_everything(start: Start, after: str) -> None:
    with start() as run:
        wait_until(lambda: any(after in {e["event"], e.get("phase")} for e in run.events), BOOT_S)
        pids = run.engine_pids()
        code, document = run.stop(signal.SIGTERM)
    assert (code, document["outcome"]) == (143, "interrupted"), run.words
    assert gone(pids)


def test_a_bad_flag_is_a_usage_failure_that_names_it(start: Start) -> None:
    with start("--accept-risk", "ENGINE.FLAGS", "--", "--no-such-flag", "3") as run:
        code, document = run.end(120)
    assert (code, document["outcome"]) == (7, "failed"), run.words
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert (failure.kind, "--no-such-flag" in failure.evidence) == ("usage", True)


def test_truncated_weights_are_refused_before_anything_is_started(start: Start, model: Path, tmp_path: Path) -> None:
    short = tmp_path / "short"
    shutil.copytree(model, short)
    weights = short / "model.safetensors"
    with weights.open("r+b") as file:
        file.truncate(weights.stat().st_size // 2)
    with start(checkpoint=short) as run:
        code, _ = run.end(60)
    assert code == 5, run.words
    assert last_receipt().attempts == []


def test_a_context_beyond_the_model_is_a_usage_failure(start: Start) -> None:
    with start(sets=("max-model-len=4096",)) as run:
        code, _ = run.end(120)
    assert code == 7, run.words
    failure = last_receipt().attempts[0].failure
    assert failure is not None
    assert failure.kind == "usage"
    assert "4096" in failure.sentence + failure.evidence


def test_a_port_that_is_taken_is_10_at_once(start: Start) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with start(port=other.getsockname()[1]) as run:
            code, document = run.end(30)
    assert code == 10
    assert "is taken by" in document["error"]


def test_an_engine_that_hangs_behind_a_healthy_endpoint_is_still_stopped(start: Start) -> None:
    with start() as run:
        pids = ready(run)
        named(pids, "VLLM::EngineCor").send_signal(signal.SIGSTOP)
        with httpx2.Client(base_url=f"http://127.0.0.1:{run.port}", trust_env=False) as client:
            assert client.get("/health", timeout=5).status_code == 200
        code, document = run.stop()
    assert (code, document["outcome"]) == (143, "stopped")
    assert gone(pids)
