import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from moet_boot.supervise.status import (
    Status,
    all_status,
    process_start,
    read_status,
    remove_status,
    status_path,
    write_status,
)


def status(port: int = 8123, **changes: object) -> Status:
    values: dict[str, object] = {
        "profile": "demo",
        "url": "http://127.0.0.1:8123",
        "port": port,
        "receipt": "r",
        "supervisor_pid": os.getpid(),
        "supervisor_start": process_start(os.getpid()),
        "phase": "starting",
        "started_at": time.time(),
        "updated_at": time.time(),
    }
    return Status.model_validate(values | changes)


def test_a_living_supervisor_is_found(tmp_path: Path) -> None:
    write_status(status(), tmp_path)
    found = read_status(8123, tmp_path)
    assert found is not None
    assert found.alive
    assert found.status.profile == "demo"


def test_a_reused_pid_is_not_taken_for_the_supervisor(tmp_path: Path) -> None:
    write_status(status(supervisor_start=12345.0), tmp_path)
    found = read_status(8123, tmp_path)
    assert found is not None
    assert not found.alive


def test_a_dead_supervisor_is_not_alive(tmp_path: Path) -> None:
    write_status(status(supervisor_pid=2**22 - 7), tmp_path)
    found = read_status(8123, tmp_path)
    assert found is not None
    assert not found.alive


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"profile": 1}', b"\xff"])
def test_a_damaged_status_is_no_status(tmp_path: Path, content: bytes) -> None:
    status_path(8123, tmp_path).write_bytes(content)
    assert read_status(8123, tmp_path) is None
    assert all_status(tmp_path) == []


def test_servers_are_listed_by_port_and_forgotten(tmp_path: Path) -> None:
    write_status(status(8123), tmp_path)
    write_status(status(8010), tmp_path)
    assert [f.status.port for f in all_status(tmp_path)] == [8010, 8123]
    remove_status(8010, tmp_path)
    remove_status(8010, tmp_path)
    assert [f.status.port for f in all_status(tmp_path)] == [8123]


def test_no_folder_means_no_servers(tmp_path: Path) -> None:
    assert all_status(tmp_path / "nowhere") == []


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    write_status(status(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["serve-8123.json"]


def test_a_clock_that_is_set_makes_no_living_supervisor_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_status(status(), tmp_path)
    # what the kernel and psutil call the time of the boot moves with the clock
    monkeypatch.setattr(psutil, "boot_time", lambda: 5.0)
    monkeypatch.setattr(time, "time", lambda: 10.0)
    found = read_status(8123, tmp_path)
    assert found is not None
    assert found.alive


def test_a_start_counts_from_the_boot_of_the_machine() -> None:
    start = process_start(os.getpid())
    assert start is not None
    assert 0.0 < start <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_supervisor_that_nobody_collected_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process_start(child.pid) is None


def test_the_start_of_a_process_that_is_not_there() -> None:
    assert process_start(2**22 - 7) is None
