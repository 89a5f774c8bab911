"""The real vLLM, its CPU build, in containers: in the guard image, and as the image that `serve` starts from the host."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from testing.base_image import libraries
from testing.docker_daemon import DockerDaemon
from testing.docker_images import BASE, build
from tests.docker.boot import NAME, state_of
from tests.docker.guard_image import ended, run_guard_image, wait_ready
from tests.scripted_engine.start import free_port
from tests.serve.scripted import Serve, last_receipt, running

pytestmark = pytest.mark.docker

IMAGE = "moet-test-vllm:1"
GUARDED = "moet-test-guarded-vllm:1"
ROOT = Path(__file__).parents[2]


def there(variable: str, default: str) -> Path:
    """What `scripts/install_engine` makes; a missing engine fails the test, it is never skipped."""
    path = Path(os.environ.get(variable, ROOT / default))
    if not path.exists():
        pytest.fail(f"{path} is missing: run scripts/install_engine, or set {variable}", pytrace=False)
    return path.absolute()


@pytest.fixture
def program() -> Path:
    """`vllm` in the engine's virtual environment; containers see it where it lies here."""
    return there("MOET_BOOT_ENGINE", ".demo/engine/bin/vllm")


@pytest.fixture
def model() -> Path:
    return there("MOET_BOOT_DEMO_MODEL", ".demo/model")


def below_the_engine(program: Path) -> dict[str, Path]:
    """What the engine needs of the system, by its name in a build's context: libraries, and a look at the CPU."""
    packages = next((program.parents[1] / "lib").glob("python3*/site-packages"))
    compiled = [*(packages / "vllm").glob("*.so"), *(packages / "torch" / "lib").glob("*.so*")]
    lscpu = Path(shutil.which("lscpu") or "/usr/bin/lscpu")
    system = [lscpu, *(path for path in libraries([lscpu, *compiled]) if packages not in path.parents)]
    return {f"lib{path.parent.resolve() / path.name}": path for path in system}


def test_boot_answer_stop_in_the_guard_image(
    daemon: DockerDaemon, client: Any, guarded: str, program: Path, model: Path
) -> None:
    """The virtual environment is mounted; the guard image has the libraries below it."""
    chained = json.dumps(json.dumps([str(program), "serve"]))
    lines = [f"FROM {guarded}", "COPY lib /", f"ENV HOME=/tmp MOET_BOOT_BASE_ENTRYPOINT={chained}"]
    build(client, GUARDED, "\n".join(lines) + "\n", below_the_engine(program))
    engine = program.parents[1]
    container = run_guard_image(
        client,
        GUARDED,
        mounts={model: "/model", engine: str(engine)},
        env={"VLLM_CACHE_ROOT": "/tmp/cache"},
        ipc_mode="host",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
    )
    wait_ready(container, timeout_s=300)
    asked = {"model": "tiny-moe", "prompt": "Hello", "max_tokens": 4}
    answer = httpx2.post(f"http://127.0.0.1:{container.port}/v1/completions", json=asked, trust_env=False, timeout=30)
    assert answer.json()["usage"]["completion_tokens"] == 4
    container.stop()
    code, log = ended(container)
    assert code == 143, log
    for words in ("loading weights", "KV cache", "ready: health, model and one generated token", "after it was ready"):
        assert words in log


@pytest.fixture
def model_and_engine(daemon: DockerDaemon, program: Path, model: Path) -> Iterator[Path]:
    """A folder with the model's files, in which the engine is mounted: copying its 2 GB takes longer than a boot.

    Read-only, so that nothing that clears the folder away could ever reach the engine.
    """
    folder = daemon.folder / "model"
    shutil.copytree(model, folder)
    (folder / "engine").mkdir()
    subprocess.run(["mount", "--bind", program.parents[1], folder / "engine"], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder / "engine"], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder / "engine"], check=True)
        shutil.rmtree(folder)


@pytest.fixture
def image(client: Any, program: Path) -> str:
    """An image as vLLM's own are: `vllm serve` is its entrypoint."""
    link = f"RUN mkdir -p {program.parents[2]} && ln -s /model/engine {program.parents[1]}"
    entrypoint = json.dumps([str(program), "serve"])
    lines = [f"FROM {BASE}", "COPY lib /", link, f"ENTRYPOINT {entrypoint}"]
    build(client, IMAGE, "\n".join(lines) + "\n", below_the_engine(program))
    return IMAGE


def test_serve_boots_it_from_the_host(
    daemon: DockerDaemon, client: Any, image: str, arch: str, model_and_engine: Path, tmp_path: Path
) -> None:
    """A person's own profile over the demo's: preflight, container, phases by its log, a token, a clean stop."""
    port, why = free_port(), 'why = "mine"\nsource = "me"\n'
    profile = tmp_path / "mine.toml"
    profile.write_text(
        'schema = "moet-boot/profile/v1"\nextends = "demo"\nname = "container"\n'
        '[engine]\nruntime = "docker"\nmodel = "/model"\n'
        f'[container]\nimage = "{image}"\nimage_arch = "{arch}"\ngpus = ""\n{why}'
        f'[mounts.checkpoint]\nartefact = "checkpoint"\ntarget = "/model"\n{why}'
        f'[env.VLLM_CACHE_ROOT]\nvalue = "/tmp/cache"\n{why}',
        encoding="utf-8",
    )
    arguments = ("--path", f"checkpoint={model_and_engine}", "--set", f"port={port}", "--stop-when-ready")
    with running(Serve(tmp_path, str(profile), port, arguments, {})) as run:
        code, document = run.end(timeout_s=300)
    assert code == 0, run.words
    assert document["answer"]
    phases = [event["phase"] for event in run.events if event["event"] == "phase"]
    assert phases == ["loading_weights", "kv_cache", "warm_up", "serving"]
    receipt = last_receipt()
    assert (receipt.plan.runtime, receipt.outcome) == ("docker", "stopped")
    assert receipt.attempts[0].curve
    state = state_of(client)
    assert (state["Running"], state["OOMKilled"]) == (False, False)
    assert client.containers.get(NAME).attrs["Config"]["Image"] == image
