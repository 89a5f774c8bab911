import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine import kernel_log
from moet_boot.machine.kernel_log import parse_kernel_log, read_kernel_log
from moet_boot.machine.tree import UnreadError
from tests.machine.trees import tree_of

NO_MEMORY = (
    "3,{n},1000,-;NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) "
    "returned from _memdescAllocInternal(pMemDesc) @ mem_desc.c:1359"
)
XID = "3,7,2000,-;NVRM: Xid (PCI:0000:c1:00): {code}, pid=4242, name=python3, Graphics Exception"


def test_driver_errors_are_counted() -> None:
    log = parse_kernel_log([NO_MEMORY.format(n=n) for n in range(55)] + ["6,1,1,-;NVRM: loading NVIDIA UNIX"])
    assert log.nv_err_no_memory_since_boot == 55
    assert log.oom_kill_since_boot == 0


def test_each_xid_once_in_its_order() -> None:
    assert parse_kernel_log(XID.format(code=code) for code in (79, 31, 79, 154)).xid == [79, 31, 154]


def test_kills_of_the_kernel_but_not_those_inside_a_limit() -> None:
    log = parse_kernel_log(
        [
            "3,1,1,-;Out of memory: Killed process 4242 (python3) total-vm:1kB",
            "3,2,1,-;Memory cgroup out of memory: Killed process 4243 (python3)",
            "3,2,1,-;Out of memory: Kill process 4244 (java) score 900 or sacrifice child",
            "6,3,1,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)",
            "6,4,1,-;something about out of memory",
        ]
    )
    assert log.oom_kill_since_boot == 2


def test_an_adapter_that_does_not_start() -> None:
    log = parse_kernel_log(["3,1,1,-;NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0x72:1568)"])
    assert log.rm_init_adapter_failed == 1


def test_a_quiet_log() -> None:
    log = parse_kernel_log(["6,1,1,-;usb 1-1: new device", " SUBSYSTEM=usb", ""])
    assert (log.nv_err_no_memory_since_boot, log.xid, log.rm_init_adapter_failed) == (0, [], 0)


@given(st.lists(st.text(max_size=80), max_size=10))
def test_any_lines_are_counted(records: list[str]) -> None:
    count = parse_kernel_log(records).nv_err_no_memory_since_boot
    assert count is not None
    assert 0 <= count <= len(records)


def test_reading_the_records(tmp_path: Path) -> None:
    text = "\n".join([NO_MEMORY.format(n=1), " DEVICE=+pci:1", XID.format(code=79)])
    log = read_kernel_log(tree_of(tmp_path, {"/dev/kmsg": text}))
    assert (log.nv_err_no_memory_since_boot, log.xid) == (1, [79])


def test_records_that_are_overwritten_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ring:
        def __init__(self) -> None:
            self.answers: list[bytes | Exception | None] = [
                NO_MEMORY.format(n=1).encode(),
                BrokenPipeError(),
                XID.format(code=79).encode(),
                None,
            ]

        def read(self, _: int) -> bytes | None:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def close(self) -> None:
            self.answers = []

    monkeypatch.setattr(kernel_log, "_open", lambda _: Ring())
    log = read_kernel_log(tree_of(tmp_path, {}))
    assert (log.nv_err_no_memory_since_boot, log.xid) == (1, [79])


def test_a_log_that_never_ends_is_left_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Flood:
        def read(self, _: int) -> bytes:
            return b"6,1,1,-;line"

        def close(self) -> None:
            pass

    monkeypatch.setattr(kernel_log, "_open", lambda _: Flood())
    monkeypatch.setattr(kernel_log, "MAX_RECORDS", 1000)
    assert read_kernel_log(tree_of(tmp_path, {})).xid == []


def test_a_log_that_is_kept_from_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(UnreadError, match="dmesg_restrict"):
        read_kernel_log(tree_of(tmp_path, {"/dev/kmsg": ""}))


def test_no_log_in_a_container(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_kernel_log(tree_of(tmp_path, {}))
