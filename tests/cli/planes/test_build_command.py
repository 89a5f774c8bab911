import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from moet_boot.cli.main import run
from testing.checkpoints import SHARD, copy_checkpoint
from testing.golden import GOLDEN, golden_json
from testing.plane_file import OWN, REPO, REVISION

CONTRACT = {
    "schema", "path", "slots", "resumed", "bytes_read", "bytes_written", "duration_s", "peak_rss_bytes", "sha256",
}  # fmt: skip


def argv(out: Path, *more: str, checkpoint: Path = GOLDEN / "iv_ckpt") -> list[str]:
    where = ["--checkpoint", str(checkpoint), "--out", str(out)]
    return ["planes", "build", *where, "--repo", REPO, "--revision", REVISION, *more]


def test_the_document_keeps_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "planes.moet2pf"
    assert run(argv(out, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() >= CONTRACT
    assert 0 <= found["read_back_s"] <= found["duration_s"]
    assert (found["schema"], found["path"]) == ("moet-boot/planes-build/v1", str(out))
    assert (found["slots"], found["resumed"], found["bytes_written"]) == (8, 0, 237_568)
    assert found["sha256"] == golden_json("vii_moet2pf/expected.json")["own"]["sha256"]
    assert out.read_bytes() == OWN.read_bytes()


def test_people_read_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv(tmp_path / "planes.moet2pf", "--threads", "2")) == 0
    shown = capsys.readouterr().out
    assert "slots    8, 0 of them from an earlier run" in shown
    assert "sha256   958138be" in shown


def test_without_a_digest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(argv(tmp_path / "planes.moet2pf", "--json", "--no-digest")) == 0
    assert json.loads(capsys.readouterr().out)["sha256"] is None


def test_an_existing_file_ends_with_2_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "planes.moet2pf"
    out.write_bytes(b"precious")
    assert run(argv(out)) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_bytes() == b"precious"
    assert run(argv(out, "--overwrite")) == 0
    assert out.read_bytes() == OWN.read_bytes()


@pytest.mark.parametrize("name", [SHARD, "config.json", "model.safetensors.index.json"])
def test_the_checkpoint_itself_is_never_overwritten(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_checkpoint(tmp_path)
    before = (folder / name).read_bytes()
    assert run(argv(folder / name, "--overwrite", checkpoint=folder)) == 2
    assert "is a part of the checkpoint" in capsys.readouterr().err
    assert (folder / name).read_bytes() == before
    assert run(argv(folder / "planes.moet2pf", checkpoint=folder)) == 0


def test_a_second_build_of_the_same_file_ends_with_10(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "planes.moet2pf"
    with FileLock(tmp_path / ".planes.moet2pf.lock"):
        assert run(argv(out)) == 10
    assert "is being written by another moet-boot" in capsys.readouterr().err
    assert not out.exists()


def test_a_broken_checkpoint_ends_with_5_and_a_missing_one_with_6(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_checkpoint(tmp_path)
    (folder / SHARD).write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert run(argv(tmp_path / "a", checkpoint=folder)) == 5
    assert "is a Git LFS pointer" in capsys.readouterr().err
    (folder / SHARD).unlink()
    assert run(argv(tmp_path / "a", checkpoint=folder)) == 6
    assert run(argv(tmp_path / "a", checkpoint=tmp_path / "none")) == 6
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("missing", ["--checkpoint", "--out", "--repo", "--revision"])
def test_nothing_is_guessed(missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = argv(tmp_path / "a")
    place = given.index(missing)
    assert run(given[:place] + given[place + 2 :]) == 2
    assert missing in capsys.readouterr().err


@pytest.mark.slow
def test_without_numpy_the_extra_is_named(tmp_path: Path) -> None:
    script = "import sys; sys.modules['numpy'] = None; from moet_boot.cli.main import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, *argv(tmp_path / "a")], check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "moet-boot[planes]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_verify_and_header_facts_need_no_numpy() -> None:
    script = "import sys; sys.modules['numpy'] = None; from moet_boot.cli.main import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", script, "planes", "verify", str(OWN), "--no-stamp"], check=False, capture_output=True
    )
    assert done.returncode == 0


def test_a_build_that_is_interrupted_says_that_it_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("moet_boot.planes.build._write_slots", interrupted)
    assert run(argv(tmp_path / "a")) == 130
    assert capsys.readouterr().err == "interrupted: the same command goes on from here\n"
    assert list(tmp_path.glob("*a*")) == []
