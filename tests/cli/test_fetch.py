import hashlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from moet_boot.cli.main import run
from moet_boot.exits import Exit
from moet_boot.fetch import plan as plan_module
from moet_boot.fetch.fetch import LOCK
from testing.plane_file import OWN
from tests.fetch.fake_hub import COMMIT, TOKEN, FakeHub, Fault, serving
from tests.fetch.scene import MIB, MODEL, PLANES, hub_with_model, noise, profile_file

SHARD = "model-00002-of-00003.safetensors"
BIG = "extra.bin"
SHA256 = hashlib.sha256(OWN.read_bytes()).hexdigest()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with serving(hub_with_model(tmp_path)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A profile of one's own, over the Spark's, whose artefacts are on the hub of the tests."""
    checkpoint = f'path = "{tmp_path}/home/model"\nrepo = "{MODEL}"\nsize_bytes = 894\nshards = 3'
    planes = (
        f'path = "{tmp_path}/home/planes.moet2pf"\nrepo = "{PLANES}"\nfile = "p.moet2pf"\n'
        f'size_bytes = {OWN.stat().st_size}\nsha256 = "{SHA256}"'
    )
    return str(profile_file(tmp_path / "mine.toml", checkpoint=checkpoint, plane_file=planes))


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] in {"moet-boot/fetch/v1", "moet-boot/error/v1"}
    return dict(document)


@pytest.mark.usefixtures("fake")
def test_a_fetch_and_what_to_do_next(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "data"
    assert run(["fetch", "--profile", profile, "--dir", str(there)]) == Exit.DONE
    captured = capsys.readouterr()
    assert f"checkpoint  {there}/model\n  from     owner/model at {COMMIT} (pinned)" in captured.out
    assert f"owner/planes at {COMMIT} (the newest; sha256 pinned)" in captured.out
    assert "6 fetched, 0 replaced, 0 here already; each compared with the hub's digest" in captured.out
    options = f"--path=checkpoint={there}/model --path=plane_file={there}/planes.moet2pf"
    assert captured.err == f"next: moet-boot preflight --profile {profile} {options}\n"


@pytest.mark.usefixtures("fake")
def test_the_places_of_the_profile_need_no_options(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fetch", "--profile", profile, "--dir", str(tmp_path / "home"), "--variant", "mtp"]) == Exit.DONE
    assert capsys.readouterr().err.endswith(f"preflight --profile {profile} --variant mtp\n")


@pytest.mark.usefixtures("fake")
def test_the_preflight_takes_the_options_and_finds_everything(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fetch", "--profile", profile, "--dir", str(tmp_path / "data"), "--json"]) == Exit.DONE
    options = said(capsys)["path_options"]
    run(["preflight", "--profile", profile, *options, "--json"])
    findings = {f["id"]: f["status"] for f in json.loads(capsys.readouterr().out)["findings"]}
    wanted = ("MODEL.PRESENT", "MODEL.COMPLETE", "MODEL.REVISION", "PLANE.PRESENT", "PLANE.SIZE", "PLANE.FORMAT")
    assert {id_: findings[id_] for id_ in wanted} == dict.fromkeys(wanted, "pass")


@pytest.mark.usefixtures("fake")
def test_the_document(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "data"
    run(["fetch", "--profile", profile, "--dir", str(there)])
    (there / "model" / SHARD).write_bytes(b"damaged")
    capsys.readouterr()
    assert run(["fetch", "--profile", profile, "--dir", str(there), "--only", "checkpoint", "--json"]) == Exit.DONE
    document = said(capsys)
    (row,) = document.pop("artefacts")
    assert document.pop("free_bytes") > 0
    size = row["size_bytes"]
    assert row == {
        "name": "checkpoint",
        "kind": "checkpoint",
        "path": f"{there}/model",
        "repo": MODEL,
        "revision": COMMIT,
        "pinned_by": "revision",
        "files": 6,
        "size_bytes": size,
        "missing_bytes": row["missing_bytes"],
        "fetched": [SHARD],
        "replaced": [SHARD],
        "notes": [],
    }
    assert document == {
        "schema": "moet-boot/fetch/v1",
        "profile": "mine",
        "variant": None,
        "dir": str(there),
        "dry_run": False,
        "left_out": {},
        "missing_bytes": row["missing_bytes"],
        "fits": True,
        "path_options": [f"--path=checkpoint={there}/model"],
    }


@pytest.mark.usefixtures("fake")
def test_a_dry_run_writes_nothing(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fetch", "--profile", profile, "--dir", str(tmp_path / "new"), "--dry-run"]) == Exit.DONE
    captured = capsys.readouterr()
    assert "here     0 of 6 files" in captured.out
    assert captured.out.endswith(f"free in {tmp_path}/new: fits\n")
    assert captured.err == ""
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_does_not_fit(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    monkeypatch.setattr(plan_module, "_free_bytes", lambda _folder: 1000)
    flags = ["--dry-run"] if dry_run else []
    assert run(["fetch", "--profile", profile, "--dir", str(tmp_path / "x"), *flags]) == Exit.FAILURE
    captured = capsys.readouterr()
    assert ("DOES NOT FIT" in captured.out) is dry_run
    assert ("fix: free " in captured.err) is not dry_run


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        pytest.param(["--profile", "sprak"], Exit.USAGE, "spark", id="profile"),
        pytest.param(["--profile", "demo"], Exit.USAGE, "names no repository", id="nothing-to-fetch"),
        pytest.param(["--profile", "spark", "--only", "planes"], Exit.USAGE, "plane_file", id="only"),
        pytest.param(["--profile", "spark", "--variant", "mtpp"], Exit.USAGE, "mtp", id="variant"),
        pytest.param(["--profile", "spark"], Exit.ARTEFACT_MISSING, "deepseek-ai/DeepSeek-V4-Flash", id="repository"),
        pytest.param(["--frobnicate"], Exit.USAGE, "--frobnicate", id="flag"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_one_clear_error(
    arguments: list[str], code: Exit, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fetch", *arguments, "--dir", str(tmp_path / "x")]) == code
    captured = capsys.readouterr()
    assert named in captured.err
    assert "fix: " in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("flags", [[], ["--dir", ""]], ids=["none", "empty"])
def test_a_folder_is_needed(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fetch", "--profile", "spark", *flags]) == Exit.USAGE
    assert "--dir" in capsys.readouterr().err


@pytest.mark.usefixtures("fake")
def test_a_second_fetch_is_locked_out(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FileLock(tmp_path / LOCK):
        assert run(["fetch", "--profile", profile, "--dir", str(tmp_path)]) == Exit.BUSY
    assert "another fetch works in" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["human", "json"])
@pytest.mark.parametrize("status", [0, 401, 404], ids=["fine", "refused", "gone"])
def test_the_token_is_never_shown(
    fake: FakeHub,
    profile: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    status: int,
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    fake.fault = lambda _request: Fault(status=status) if status else None
    code = run(["fetch", "--profile", profile, "--dir", str(tmp_path / "x"), *flags])
    assert code == {0: Exit.DONE, 401: Exit.FAILURE, 404: Exit.ARTEFACT_MISSING}[status]
    assert all(asked.authorization == f"Bearer {TOKEN}" for asked in fake.requests)
    written = b"".join(path.read_bytes() for path in (tmp_path / "x").rglob("*") if path.is_file())
    captured = capfd.readouterr()
    assert TOKEN not in captured.out + captured.err
    assert TOKEN.encode() not in written


def test_without_the_library(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "moet_boot.fetch.hub", raising=False)
    monkeypatch.delitem(sys.modules, "moet_boot.fetch.bring", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert run(["fetch", "--profile", profile, "--dir", str(tmp_path)]) == Exit.USAGE
    assert "pip install 'moet-boot[hub]'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGKILL, -9)], ids=["ctrl-c", "kill-9"]
)
def test_an_interrupted_fetch_goes_on(
    fake: FakeHub, profile: str, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    fake.repos[MODEL][BIG] = content = noise(4 * MIB)
    release = threading.Event()
    fake.fault = lambda asked: Fault(cut_after=3 * MIB, hold=release) if asked.path.endswith(BIG) else None
    command = [sys.executable, "-m", "moet_boot", "fetch", "--profile", profile, "--dir", str(tmp_path / "x")]
    command += ["--only", "checkpoint"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        _wait_for_part(tmp_path / "x", 3 * MIB)
        process.send_signal(number)
        _, talk = process.communicate(timeout=50)
    finally:
        process.kill()
        release.set()
    assert process.returncode == code
    assert talk == ("interrupted: the same command goes on from here\n" if number is signal.SIGINT else "")
    fake.fault = lambda _asked: None
    fake.requests.clear()
    assert run(command[3:]) == Exit.DONE
    assert [asked.start for asked in fake.file_requests(BIG)] == [3 * MIB]
    assert (tmp_path / "x/model" / BIG).read_bytes() == content


def _wait_for_part(folder: Path, size: int) -> None:
    deadline = time.monotonic() + 50
    while time.monotonic() < deadline:
        if any(path.stat().st_size >= size for path in folder.rglob(f"{BIG}*.incomplete")):
            return
        time.sleep(0.02)
    pytest.fail("nothing came")


def test_help_shows_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    run(["fetch", "--help"])
    shown = capsys.readouterr().out
    assert "moet-boot fetch --profile spark --dir ~/models --dry-run" in shown
    assert "5 what came is damaged" in shown
