"""The guard image, built for real over the scripted engine's image, and everything that `docker run` does to it."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from scripts import build_image
from testing.docker_daemon import DockerDaemon
from testing.docker_images import BASE, ENGINE, ENTRYPOINT, OTHER_ARCH, build
from tests.docker.guard_image import TARGETS, ended, run_guard_image, wait_ready
from tests.serve.scripted import wait_until

pytestmark = pytest.mark.docker

MODEL = Path(__file__).parents[1] / "data" / "golden" / "iv_ckpt"
MIB = 1 << 20
SECOND = 10**9
EACH_SECOND = {"interval": SECOND, "start_period": SECOND, "retries": 2}
"""The image's own health check, at a test's pace; nanoseconds."""
Run = Callable[..., Any]


@pytest.fixture
def image(client: Any, guarded: str) -> Any:
    """The guard image over the scripted engine."""
    return client.images.get(guarded)


@pytest.fixture
def run(daemon: DockerDaemon, client: Any, guarded: str) -> Run:
    """Start a container of it."""

    def start(*arguments: str, model: bool = True, **options: Any) -> Any:
        return run_guard_image(client, guarded, *arguments, mounts={MODEL: "/model"} if model else {}, **options)

    return start


def test_it_keeps_what_the_base_starts_and_adds_little(client: Any, image: Any) -> None:
    config, base = image.attrs["Config"], client.images.get(ENGINE)
    env = dict(entry.partition("=")[::2] for entry in config["Env"])
    assert config["Entrypoint"] == ["/opt/moet-boot/bin/moet-boot", "entrypoint"]
    assert json.loads(env["MOET_BOOT_BASE_ENTRYPOINT"]) == ENTRYPOINT
    assert config["User"] == base.attrs["Config"]["User"]
    assert config["Healthcheck"]["Test"][-1] == "--health"
    assert 10 * MIB < image.attrs["Size"] - base.attrs["Size"] < 60 * MIB


def test_the_other_targets_file_builds_too(
    started: DockerDaemon, client: Any, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a base of this machine's architecture, because there is no other here to build with."""
    (other,) = set(TARGETS.values()) - {TARGETS[arch]}
    monkeypatch.setenv("DOCKER_HOST", started.address)
    assert build_image.main([other, "--base", ENGINE, "--tag", "moet-boot-other:1", "--any-arch"]) == 0
    config = client.images.get("moet-boot-other:1").attrs["Config"]
    env = dict(entry.partition("=")[::2] for entry in config["Env"])
    assert config["Labels"]["io.moet-boot.target"] == other
    assert env["MOET_BOOT_PROFILE"] == {"gb10": "spark", "sm120": "rtx6000-a"}[other]
    assert json.loads(env["MOET_BOOT_BASE_ENTRYPOINT"]) == ENTRYPOINT


def test_the_servers_own_python_is_untouched(client: Any, guarded: str) -> None:
    look = "import importlib.util as u; print(u.find_spec('moet_boot'), u.find_spec('pydantic'))"
    said = client.containers.run(guarded, ["-c", look], entrypoint=["python3"], network_mode="none", remove=True)
    assert said == b"None None\n"


def test_boot_health_and_docker_stop(run: Run, client: Any) -> None:
    container = run("--seed", "7", knobs={"swallow_terms": 0})
    wait_ready(container)
    assert httpx2.get(f"http://127.0.0.1:{container.port}/health", trust_env=False).status_code == 200
    commands = [Path(f"/proc/{row[1]}/cmdline").read_bytes().split(b"\0") for row in container.top()["Processes"]]
    assert any(b"/model" in command and command[-3:-1] == [b"--seed", b"7"] for command in commands)
    container.stop()
    code, log = ended(container)
    assert code == 143, log
    assert "stopped by a signal after it was ready" in log


def test_a_server_that_ignores_term_is_gone_before_docker_loses_patience(run: Run) -> None:
    container = run(knobs={"ignore_term": True})
    wait_ready(container)
    container.stop()
    code, log = ended(container)
    assert code == 143, "docker would have said 137"
    assert "receipt:" in log.splitlines()[-1]


def test_docker_itself_finds_it_healthy(run: Run) -> None:
    container = run(healthcheck=EACH_SECOND)
    wait_until(lambda: health_of(container) == "healthy", timeout_s=60)
    assert container.attrs["State"]["Health"]["Log"][-1]["Output"] == "ready\n"


def test_docker_itself_finds_a_boot_that_hangs_unhealthy(run: Run) -> None:
    container = run(healthcheck=EACH_SECOND, knobs={"hang_in": "kv_cache"})
    wait_until(lambda: health_of(container) == "unhealthy", timeout_s=60)
    assert container.status == "running"
    asked = container.exec_run(["moet-boot", "entrypoint", "--health"])
    assert (asked.exit_code, b"KV cache" in asked.output) == (1, True), asked.output


def health_of(container: Any) -> str:
    container.reload()
    found: str = container.attrs["State"]["Health"]["Status"]
    return found


def test_docker_kill_ends_everything(run: Run) -> None:
    container = run()
    wait_ready(container)
    container.kill()
    assert ended(container)[0] == 137


@pytest.mark.parametrize(
    ("env", "model", "code", "words"),
    [
        ({}, False, 6, "MODEL.PRESENT"),
        ({"MOET_BOOT_PROFIL": "demo"}, True, 2, "did you mean MOET_BOOT_PROFILE?"),
        ({"MOET_BOOT_PROFILE": "nope"}, True, 2, "no such profile"),
        ({"MOET_BOOT_SET": "port=0"}, True, 2, "expected a port"),
        ({"MOET_BOOT_ACCEPT_RISK": "MEM.NOPE"}, True, 2, "MEM.NOPE"),
        ({"MOET_BOOT_BASE_ENTRYPOINT": '["/nowhere"]'}, True, 3, "ENGINE.PRESENT"),
    ],
    ids=["no model", "mistyped name", "no such profile", "bad value", "no such risk", "base entrypoint is gone"],
)
@pytest.mark.parametrize("mode", ["supervise", "exec"])
def test_refusals_have_the_codes_of_serve(
    run: Run, env: dict[str, str], model: bool, code: int, words: str, mode: str
) -> None:
    found, log = ended(run(env={**env, "MOET_BOOT_MODE": mode}, model=model))
    assert (found, words in log) == (code, True), log


def test_a_memory_limit_of_the_container_is_judged(run: Run) -> None:
    code, log = ended(run(mem_limit="1g"))
    assert code == 3
    assert "MEM.CGROUP" in log


def test_a_crash_in_the_boot_has_its_cause(run: Run) -> None:
    code, log = ended(run(knobs={"fail": "no_weights"}))
    assert code == 7
    assert "Cannot find any model weights" in log or "no weight file" in log.lower(), log


def test_exec_mode_becomes_the_server_and_nothing_else(run: Run) -> None:
    container = run(env={"MOET_BOOT_MODE": "exec"}, knobs={"swallow_terms": 0})
    wait_ready(container)
    first = container.exec_run(["cat", "/proc/1/cmdline"]).output.decode().split("\0")
    assert first[: len(ENTRYPOINT)] == ENTRYPOINT
    assert not any("moet_boot" in row[-1] for row in container.top()["Processes"])
    container.stop()
    assert ended(container)[0] == 0


@pytest.mark.parametrize("mode", ["supervise", "exec"])
def test_a_stop_in_the_middle_of_the_preflight(run: Run, mode: str) -> None:
    """Process 1 gets no signal that it has no handler for: docker would wait for 10 s, then kill."""
    container = run(env={"MOET_BOOT_MODE": mode})
    container.reload()
    first = Path("/proc", str(container.attrs["State"]["Pid"]))
    # what docker starts is for a moment still the engine's own program
    wait_until(lambda: b"moet-boot" in (first / "cmdline").read_bytes())
    wait_until(lambda: takes_term((first / "status").read_text(encoding="utf-8")))
    container.stop()
    assert ended(container)[0] == 143


def takes_term(status: str) -> bool:
    """Whether TERM is blocked (and waits) or has a handler, by /proc/PID/status."""
    sets = dict(line.split(":\t") for line in status.splitlines() if line.startswith("Sig"))
    return any(int(sets[name], 16) >> (signal.SIGTERM - 1) & 1 for name in ("SigBlk", "SigCgt"))


@pytest.mark.parametrize("tmpfs", [{"/tmp": ""}, {}], ids=["with a /tmp", "with the state's volume alone"])
def test_a_read_only_root_and_another_user(run: Run, tmpfs: dict[str, str]) -> None:
    container = run(read_only=True, user="1000", tmpfs=tmpfs, security_opt=["no-new-privileges"], cap_drop=["ALL"])
    wait_ready(container)
    container.stop()
    code, log = ended(container)
    assert code == 143, log
    assert "receipt: /var/lib/moet-boot/receipts/" in log


def test_process_1_collects_orphans(run: Run) -> None:
    container = run(knobs={"daemon": "double"})
    wait_ready(container)
    orphan = "import os; os.fork() or (os.setsid(), os.fork() or os._exit(0))"
    container.exec_run(["python3", "-c", orphan])
    states = "for p in /proc/[0-9]*; do cat $p/stat; done"
    wait_until(lambda: ") Z " not in container.exec_run(["sh", "-c", states]).output.decode())
    container.stop()
    assert ended(container)[0] == 143


@pytest.mark.parametrize(
    ("base", "extra", "words"),
    [
        ("moet-test-absent:1", [], "no image moet-test-absent:1 here"),
        (OTHER_ARCH, [], "has no python3 that runs"),
        (BASE, ["--python", "python2"], "has no python2 that runs"),
        ("moet-test-old:1", [], "is Python 3.9; 3.11 or later is needed"),
    ],
    ids=["no base", "another architecture", "no such Python", "an old Python"],
)
def test_a_base_that_will_not_do_is_refused_before_the_build(
    daemon: DockerDaemon,
    client: Any,
    arch: str,
    capsys: pytest.CaptureFixture[str],
    base: str,
    extra: list[str],
    words: str,
) -> None:
    if base == "moet-test-old:1":
        old = "printf '#!/bin/sh\\necho 3 9 x86_64 glibc 2.31\\n' >/usr/bin/python3; chmod 755 /usr/bin/python3"
        build(client, base, f"FROM {BASE}\nENV PATH=/usr/bin:/bin\nRUN {old}\n")
    assert build_image.main([TARGETS[arch], "--base", base, "--tag", "moet-boot-never:1", *extra]) == 1
    assert words in capsys.readouterr().err
    assert not client.images.list(name="moet-boot-never")


def test_the_target_of_the_other_architecture_is_refused(
    daemon: DockerDaemon, arch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = {"amd64": "gb10", "arm64": "sm120"}[arch]
    assert build_image.main([target, "--base", ENGINE, "--tag", "moet-boot-never:1"]) == 1
    assert f"target {target} is for" in capsys.readouterr().err
