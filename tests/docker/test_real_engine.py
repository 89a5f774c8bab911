"""The real vLLM, its CPU build, in a container: in the guard image, from the preflight to generated tokens and a clean stop."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import httpx2
import pytest

from testing.base_image import libraries
from testing.docker_daemon import DockerDaemon
from testing.docker_images import build
from tests.docker.guard_image import ended, run_guard_image, wait_ready

pytestmark = pytest.mark.docker

IMAGE = "moet-test-vllm:1"
ROOT = Path(__file__).parents[2]


def there(variable: str, default: str) -> Path:
    """What `scripts/install_engine` makes; a missing engine fails the test, it is never skipped."""
    path = Path(os.environ.get(variable, ROOT / default))
    if not path.exists():
        pytest.fail(f"{path} is missing: run scripts/install_engine, or set {variable}", pytrace=False)
    return path.absolute()


@pytest.fixture
def engine(client: Any, guarded: str) -> Path:
    """The virtual environment of the engine; the image has its libraries and expects it where it is here."""
    program = there("MOET_BOOT_ENGINE", ".demo/engine/bin/vllm")
    packages = next((program.parents[1] / "lib").glob("python3*/site-packages"))
    compiled = [*(packages / "vllm").glob("*.so"), *(packages / "torch" / "lib").glob("*.so*")]
    lscpu = Path(shutil.which("lscpu") or "/usr/bin/lscpu")
    system = [lscpu, *(path for path in libraries([lscpu, *compiled]) if packages not in path.parents)]
    names = {f"lib{path.parent.resolve() / path.name}": path for path in system}
    chained = json.dumps(json.dumps([str(program), "serve"]))
    lines = [f"FROM {guarded}", "COPY lib /", f"ENV HOME=/tmp MOET_BOOT_BASE_ENTRYPOINT={chained}"]
    build(client, IMAGE, "\n".join(lines) + "\n", names)
    return program.parents[1]


def test_boot_answer_stop(daemon: DockerDaemon, client: Any, engine: Path) -> None:
    model = there("MOET_BOOT_DEMO_MODEL", ".demo/model")
    container = run_guard_image(
        client,
        IMAGE,
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
