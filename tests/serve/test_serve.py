"""The whole path with the scripted engine: every exit code, nothing left running, a receipt each time."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from moet_boot.cli import main
from moet_boot.supervise.status import read_status
from tests.guard.unruly import within
from tests.scripted_engine import start as scripted
from tests.serve.scripted import gone, last_receipt, serving, wait_until, write_profile


def test_boot_ask_stop(tmp_path: Path) -> None:
    with serving(tmp_path, "--stop-when-ready") as run:
        code, document = run.end()
    assert code == 0, run.words
    assert document["outcome"] == "stopped"
    assert document["answer"]
    receipt = last_receipt()
    assert Path(document["receipt"]).is_file()
    assert [p.phase.value for p in receipt.attempts[0].phases] == [
        "starting",
        "loading_weights",
        "kv_cache",
        "warm_up",
        "serving",
    ]
    assert receipt.attempts[0].curve
    assert receipt.attempts[0].lowest_available_bytes
    assert receipt.first_answer == document["answer"]
    assert read_status(run.port) is None


@pytest.mark.slow
def test_events_are_ndjson_and_stdout_is_one_document(tmp_path: Path) -> None:
    with serving(tmp_path, "--stop-when-ready") as run:
        run.end()
    assert all(json.loads(line)["schema"].startswith("moet-boot/") for line in run.talk.splitlines())
    assert [e["event"] for e in run.events][-1] == "ready"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 143)])
def test_a_signal_while_serving_ends_cleanly(tmp_path: Path, number: signal.Signals, expected: int) -> None:
    with serving(tmp_path) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        code, document = run.stop(number)
    assert (code, document["outcome"]) == (expected, "stopped")
    assert len(pids) >= 3
    assert gone(pids)


@pytest.mark.slow
def test_a_signal_in_the_boot_ends_cleanly_although_the_engine_swallows_a_term(tmp_path: Path) -> None:
    with serving(tmp_path, boot_s=30, swallow_terms=1) as run:
        run.wait_for("phase", phase="loading_weights")
        pids = run.engine_pids()
        code, document = run.stop()
    assert (code, document["outcome"]) == (143, "interrupted")
    assert gone(pids)
    assert last_receipt().exit_code == 143


@pytest.mark.slow
def test_a_second_signal_ends_the_grace_of_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path, "--grace", "600", ignore_term=True) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        run.process.send_signal(signal.SIGTERM)
        run.wait_for("note")
        code, _ = run.stop(signal.SIGINT)
    assert code == 143
    assert gone(pids)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knobs", "kind", "says"),
    [
        ({"fail": "unknown_flag"}, "usage", "no-such-flag"),
        ({"fail": "truncated_shard"}, "artefact", ""),
        ({"exit_signal": 11}, "engine_crash", "SIGSEGV"),
        ({"exit": 3}, "unknown", "exit code 3"),
    ],
    ids=["bad flag", "damaged shard", "crash", "exit code"],
)
def test_a_boot_that_fails_is_7_with_its_class_and_a_remedy(
    tmp_path: Path, knobs: dict[str, Any], kind: str, says: str
) -> None:
    with serving(tmp_path, **knobs) as run:
        code, document = run.end()
    assert (code, document["outcome"]) == (7, "failed"), run.words
    failure = last_receipt().attempts[-1].failure
    assert failure is not None
    assert failure.kind == kind
    assert says in failure.sentence + failure.evidence
    assert failure.sentence in document["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("knob", ["silent", "hang_tokens"])
def test_health_without_tokens_is_a_hang(tmp_path: Path, knob: str) -> None:
    with serving(tmp_path, deadline_s=3, **{knob: True}) as run:
        code, document = run.end()
    assert code == 7, run.words
    assert last_receipt().attempts[-1].failure is not None
    assert "warm-up" in document["reason"] or "token" in document["reason"]


@pytest.mark.slow
def test_a_hang_is_ended_at_the_deadline_of_its_phase_and_names_it(tmp_path: Path) -> None:
    with serving(tmp_path, "--grace", "1", deadline_s=2, hang_in="kv_cache", ignore_term=True) as run:
        run.wait_for("phase", phase="kv_cache")
        pids = run.engine_pids()
        code, document = run.end(60)
    assert code == 7
    assert "KV cache" in document["reason"]
    assert gone(pids)


@pytest.mark.slow
def test_the_engines_death_behind_exit_code_zero_is_11(tmp_path: Path) -> None:
    with serving(tmp_path, die_after_s=3) as run:
        code, document = run.end()
    assert (code, document["outcome"]) == (11, "died"), run.words


@pytest.mark.slow
def test_a_server_that_dies_is_restarted_within_its_budget(tmp_path: Path) -> None:
    with serving(tmp_path, die_after_s=3, budget=1) as run:
        code, _ = run.end(60)
    receipt = last_receipt()
    assert code == 11
    assert (len(receipt.attempts), receipt.restarts) == (2, 1)
    assert "the budget is 1 restarts" in receipt.outcome_reason


@pytest.mark.slow
def test_the_guard_kills_at_the_floor_and_the_exit_is_8(tmp_path: Path) -> None:
    # a program that frees much memory at this moment keeps it above the floor: then once more
    code, document, words = next(
        (ended for _ in range(5) if (ended := fallen_through_the_floor(tmp_path))[0] != 0), (0, {}, "never killed")
    )
    assert (code, document["outcome"]) == (8, "guard"), words
    actions = [a.action for a in last_receipt().attempts[0].guard_actions]
    assert "kill" in actions


def fallen_through_the_floor(tmp_path: Path) -> tuple[int, dict[str, Any], str]:
    """A boot that takes more than there is above the floor: exit code, document and last words."""
    floors = {"hard_floor_gib": psutil.virtual_memory().available / 2**30 - 0.7}
    accept = ("--accept-risk", "MEM.AVAILABLE", "--stop-when-ready")
    with serving(tmp_path, *accept, floors=floors, alloc_mib=1600, alloc_mib_s=800, boot_s=1) as run:
        run.wait_for("begin")
        pids: list[int] = []
        with suppress(psutil.NoSuchProcess):
            pids += run.engine_pids()
        code, document = run.end()
        assert gone(pids)
        return code, document, run.words


@pytest.mark.slow
def test_observe_only_notes_and_leaves_the_server_alone(tmp_path: Path) -> None:
    floor = psutil.virtual_memory().available / 2**30 + 2
    accept = ("--accept-risk", "MEM.AVAILABLE")
    with serving(tmp_path, *accept, "--observe-only", "--stop-when-ready", floors={"hard_floor_gib": floor}) as run:
        code, _ = run.end()
    assert code == 0, run.words
    assert "would kill" in [a.action for a in last_receipt().attempts[0].guard_actions]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_guard_that_is_gone_takes_the_server_down(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        below = psutil.Process(run.process.pid).children(recursive=True)
        guards = [p for p in below if p.name() == "moet-guard"]
        assert len(guards) == 1
        guards[0].send_signal(number)
        wait_until(lambda: gone(pids))
        code, document = run.end()
    assert code == 11
    assert "guard" in document["reason"]


@pytest.mark.slow
def test_a_guard_that_is_killed_while_the_server_has_its_grace_ends_it_at_once(tmp_path: Path) -> None:
    assert within(1.5, lambda: seconds_without_a_guard(tmp_path), tries=3)


def seconds_without_a_guard(tmp_path: Path) -> float:
    with serving(tmp_path, "--grace", "600", ignore_term=True) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        below = psutil.Process(run.process.pid).children()
        guards = [p for p in below if p.name() == "moet-guard"]
        run.process.send_signal(signal.SIGTERM)
        run.wait_for("note")
        guards[0].kill()
        killed = time.monotonic()
        wait_until(lambda: gone(pids))
        taken = time.monotonic() - killed
        code, _ = run.end()
    assert code == 143
    return taken


@pytest.mark.slow
def test_a_killed_moet_boot_takes_the_server_down_at_once(tmp_path: Path) -> None:
    assert within(1.5, lambda: seconds_without_moet_boot(tmp_path), tries=3)
    shown = subprocess.run(
        [sys.executable, "-m", "moet_boot", "receipts", "show", "--json"], capture_output=True, text=True, check=True
    )
    receipt = json.loads(shown.stdout)
    assert receipt["outcome"] == "killed"
    assert receipt["attempts"][0]["curve"], "the samples survive a kill -9"
    listed = subprocess.run(
        [sys.executable, "-m", "moet_boot", "receipts", "list", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(listed.stdout)["receipts"][0]["outcome"] == "killed"


def seconds_without_moet_boot(tmp_path: Path) -> float:
    with serving(tmp_path) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        run.process.kill()
        run.process.wait()
        killed = time.monotonic()
        wait_until(lambda: gone(pids))
        return time.monotonic() - killed


@pytest.mark.slow
def test_status_and_stop_from_another_process(tmp_path: Path) -> None:
    with serving(tmp_path) as run:
        run.wait_for("ready")
        pids = run.engine_pids()
        status = subprocess.run(
            [sys.executable, "-m", "moet_boot", "status", "--json"], capture_output=True, text=True, check=False
        )
        server = json.loads(status.stdout)["servers"][0]
        assert status.returncode == 0
        assert (server["port"], server["ready"], server["phase"]) == (run.port, True, "serving")
        stop = subprocess.run([sys.executable, "-m", "moet_boot", "stop"], capture_output=True, text=True, check=False)
        assert stop.returncode == 0, stop.stderr
        code, document = run.end()
    assert (code, document["outcome"]) == (143, "stopped")
    assert gone(pids)
    assert scripted_port_is_free(run.port)


def scripted_port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    return True


@pytest.mark.slow
def test_a_second_serve_beside_a_healthy_own_server_says_so_and_is_0(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        first.wait_for("ready")
        with serving(tmp_path, port=first.port) as second:
            code, document = second.end()
        assert code == 0, second.talk
        assert "already" in document["reason"]
        assert first.process.poll() is None
        first.stop()


def test_a_foreign_server_on_the_port_is_10(tmp_path: Path) -> None:
    with scripted.listener(None) as other, serving(tmp_path, port=other.getsockname()[1]) as run:
        code, document = run.end()
    assert code == 10
    assert f"pid {os.getpid()}" in document["error"]


def test_a_refusal_starts_nothing_and_leaves_a_receipt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = scripted.free_port()
    profile = write_profile(tmp_path, port)
    (tmp_path / "model" / "model-00001-of-00003.safetensors").unlink()
    assert main.run(["serve", "--profile", str(profile)]) == 6
    said = capsys.readouterr().err
    assert "MODEL.COMPLETE" in said
    assert "plan: " not in said
    receipt = last_receipt()
    assert (receipt.outcome, receipt.exit_code, receipt.attempts) == ("refused", 6, [])


def test_a_missing_engine_is_refused_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = write_profile(tmp_path, scripted.free_port())
    assert main.run(["serve", "--profile", str(profile), "--engine", "/nowhere/vllm"]) in {3, 6}
    assert "/nowhere/vllm" in capsys.readouterr().err


def test_dry_run_prints_the_plan_and_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = write_profile(tmp_path, 8199)
    assert main.run(["serve", "--profile", str(profile), "--dry-run", "--json", "--", "--seed", "7"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "moet-boot/serve-plan/v1"
    assert document["plan"]["argv"][-2:] == ["--seed", "7"]
    assert "--seed 7" in document["plan"]["command"]
    assert document["plan"]["digest"]


@pytest.mark.slow
def test_the_endpoints_follow_the_boot(tmp_path: Path) -> None:
    port = scripted.free_port()
    with (
        serving(tmp_path, "--endpoints-port", str(port), boot_s=3) as run,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        run.wait_for("begin")
        assert client.get("/livez").status_code == 200
        assert client.get("/readyz").status_code == 503
        run.wait_for("ready")
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert "moet_boot_ready 1.0" in client.get("/metrics").text
        run.stop()


@pytest.mark.slow
def test_secrets_reach_the_server_and_no_file(tmp_path: Path) -> None:
    with serving(tmp_path, "--stop-when-ready", "--", "--api-key", "sk-verysecretkey123") as run:
        run.end()
    receipt = last_receipt()
    folder = Path(os.environ["MOET_BOOT_STATE_DIR"]) / "receipts" / receipt.id
    assert "--api-key" in receipt.plan.argv
    for path in [folder / "receipt.json", *tmp_path.glob("serve-*.ndjson")]:
        assert "verysecret" not in path.read_text(errors="replace"), path


@pytest.mark.slow
def test_a_new_moet_boot_gets_no_new_budget(tmp_path: Path) -> None:
    knobs: dict[str, Any] = {"port": scripted.free_port(), "exit": 3}
    codes = []
    document: dict[str, Any] = {}
    for arguments in ((), (), ("--retry",), ()):
        with serving(tmp_path, *arguments, **knobs) as run:
            code, document = run.end()
        codes.append((code, document["outcome"]))
    assert codes == [(7, "failed"), (7, "refused"), (7, "failed"), (7, "refused")]
    assert "Mend that and start with --retry" in document["reason"]
    assert "exit code 3" in document["reason"]
