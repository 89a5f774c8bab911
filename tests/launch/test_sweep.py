"""What the next moet-boot clears up after a killed one: all that was its server's, and nothing else."""

import json
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.guard.processes import read_process
from moet_boot.launch import sweep
from moet_boot.launch.belongings import Record
from moet_boot.launch.sweep import end_processes, sweep_abandoned


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder on tmpfs that stands for /dev/shm."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="moet-boot-test-") as folder:
        yield Path(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the records are."""
    return tmp_path / "run"


def segment(shm: Path, name: str = "psm_0123abcd") -> tuple[Path, int]:
    path = shm / name
    path.write_bytes(b"\0" * 4096)
    return path, path.stat().st_ino


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def start_of(process: "subprocess.Popen[bytes]") -> int:
    found = read_process(process.pid)
    assert found is not None
    return found.start


def orphan(record: Record) -> None:
    """As if its moet-boot had been killed."""
    body = json.loads(record.path.read_text())
    record.path.write_text(json.dumps(body | {"owner": body["owner"].rpartition(":")[0] + ":1"}))


def test_segments_and_rendezvous_of_a_killed_one(
    folder: Path, shm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ours, file = segment(shm), tmp_path / f"vllm_dist_{uuid.uuid4().hex}"
    file.touch()
    foreign, _ = segment(shm, "psm_foreign1")
    record = Record(folder)
    record.keep([ours], [file])
    orphan(record)
    (words,) = sweep_abandoned(folder, shm)
    assert str(ours[0]) in words
    assert str(file) in words
    assert words.endswith("whose moet-boot was killed")
    assert not ours[0].exists()
    assert not file.exists()
    assert foreign.exists()
    assert list(folder.iterdir()) == []
    assert sweep_abandoned(folder, shm) == []


def test_of_one_that_lives_nothing_is_touched(folder: Path, shm: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    ours = segment(shm)
    record = Record(folder)
    record.processes = ((sleeper.pid, start_of(sleeper)),)
    record.keep([ours], [])
    assert sweep_abandoned(folder, shm) == []
    assert ours[0].exists()
    assert sleeper.poll() is None
    assert record.path.exists()


@pytest.mark.parametrize(
    "claim",
    [
        lambda shm: (segment(shm)[0], 1),
        lambda shm: segment(shm, "somebodys-database"),
        lambda shm: ((shm / ".." / "psm_elsewhere"), 1),
    ],
    ids=["another file of the name", "another kind", "another folder"],
)
def test_a_record_is_no_licence_to_delete(folder: Path, shm: Path, claim: object) -> None:
    path, inode = claim(shm)  # type: ignore[operator]
    record = Record(folder)
    record.keep([(path, inode)], [shm / "precious"])
    (shm / "precious").touch()
    before = sorted(shm.iterdir())
    orphan(record)
    assert sweep_abandoned(folder, shm) == []
    assert sorted(shm.iterdir()) == before


def test_only_the_folders_of_sockets_go(
    folder: Path, shm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    precious, link = tmp_path / "precious", tmp_path / f"{sweep.SOCKETS}link"
    elsewhere = precious / f"{sweep.SOCKETS}1"
    elsewhere.mkdir(parents=True)
    link.symlink_to(precious)
    with tempfile.TemporaryDirectory(prefix=sweep.SOCKETS, ignore_cleanup_errors=True) as sockets:
        (Path(sockets) / "engine.ipc").touch()
        record = Record(folder, folders=[sockets, str(precious), str(elsewhere), str(link), "/"])
        record.keep([], [])
        orphan(record)
        assert sweep_abandoned(folder, shm) == []
        assert not Path(sockets).exists()
    assert elsewhere.exists()
    assert link.is_symlink()
    assert list(folder.iterdir()) == []


def test_a_segment_that_somebody_holds_stays_on_record(folder: Path, shm: Path) -> None:
    ours = segment(shm)
    record = Record(folder)
    record.keep([ours], [])
    orphan(record)
    with ours[0].open("rb"):
        assert sweep_abandoned(folder, shm) == []
        assert ours[0].exists()
    assert len(sweep_abandoned(folder, shm)) == 1
    assert not ours[0].exists()


def test_workers_that_outlived_everybody_are_ended_first(
    folder: Path, shm: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    decoy = subprocess.Popen(["sleep", "600"])
    record = Record(folder)
    record.processes = ((sleeper.pid, start_of(sleeper)), (decoy.pid, start_of(decoy) - 1), (2**22 + 1, 5))
    record.keep([], [])
    orphan(record)
    (words,) = sweep_abandoned(folder, shm)
    assert words.startswith("ended 1 process(es)")
    assert sleeper.wait(30) == -signal.SIGKILL
    assert decoy.poll() is None, "its pid was somebody else's when the server ran"
    decoy.kill()
    decoy.wait()


def test_the_children_of_a_worker_end_with_it() -> None:
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
    assert shell.stdout is not None
    child = int(shell.stdout.readline())
    assert end_processes([(shell.pid, start_of(shell))]) == (2, [])
    assert shell.wait(30) == -signal.SIGKILL
    shell.stdout.close()
    found = read_process(child)
    assert found is None or found.state == "Z"


def test_nobody_is_nobody() -> None:
    assert end_processes([]) == (0, [])


def test_a_worker_that_does_not_die_is_told_and_stays_on_record(
    folder: Path, shm: Path, sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "end_processes", lambda _processes: (1, [sleeper.pid]))
    ours = segment(shm)
    record = Record(folder)
    record.keep([ours], [])
    orphan(record)
    assert f"pids [{sleeper.pid}]" in sweep_abandoned(folder, shm)[-1]
    assert ours[0].exists(), "it may still use it"
    assert record.path.exists()
