"""What the kernel says is heard in time, in bounds, and from nowhere is nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from moet_boot.guard.cgroup import create_cgroup, remove_cgroup
from moet_boot.guard.witnesses import RECORDS, GroupEvents, KernelLog

NVRM = (
    b"4,1234,999,-;NVRM: nvCheckOkFailedNoLog: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from "
    b"_memdescAllocInternal @ mem_desc.c:1359\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01\n"
)


@pytest.fixture
def kmsg(tmp_path: Path) -> Path:
    path = tmp_path / "kmsg"
    path.write_bytes(b"6,1,1,-;NVRM: Out of memory [NV_ERR_NO_MEMORY] of last week\n")
    return path


def said(path: Path, *records: bytes) -> None:
    with path.open("ab") as log:
        for record in records:
            log.write(record)


class TestKernelLog:
    @pytest.fixture
    def log(self, kmsg: Path) -> Iterator[KernelLog]:
        made = KernelLog(kmsg)
        yield made
        made.close()

    def test_what_was_said_before_the_start_is_old(self, log: KernelLog) -> None:
        assert log.heard() == ""

    def test_the_drivers_line_without_its_prefix_and_its_tags(self, log: KernelLog, kmsg: Path) -> None:
        said(kmsg, NVRM)
        assert log.heard() == "kernel log: " + NVRM.partition(b";")[2].partition(b"\n")[0].decode()
        assert log.heard() == "", "once"

    @pytest.mark.parametrize(
        "line",
        [
            b"NVRM: Xid (PCI:0000:01:00): 31, pid=1234",
            b"Out of memory: Killed process 99 (python3) total-vm:1kB",
            b"Memory cgroup out of memory: Killed process 99 (python3)",
            b"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)",
        ],
    )
    def test_other_lines_that_tell(self, log: KernelLog, kmsg: Path, line: bytes) -> None:
        said(kmsg, b"6,9,9,-;" + line + b"\n")
        assert line.decode() in log.heard()

    def test_other_news_is_no_news(self, log: KernelLog, kmsg: Path) -> None:
        said(kmsg, b"6,9,9,-;usb 1-1: new high-speed USB device\n", b"\xff\n", b";\n", b" NV_ERR_NO_MEMORY=tag\n")
        assert log.heard() == ""

    def test_many_lines_are_counted_and_a_long_one_is_cut(self, log: KernelLog, kmsg: Path) -> None:
        said(kmsg, *[NVRM] * 9, b"6,9,9,-;NVRM: Xid " + b"x" * 1000 + b"\n")
        heard = log.heard()
        assert heard.endswith("(and 7 more such lines)")
        assert len(heard) < 1000

    def test_a_log_that_may_not_be_read_is_silent(self, tmp_path: Path) -> None:
        log = KernelLog(tmp_path / "absent")
        assert log.heard() == ""
        log.close()
        log.close()

    def test_a_flood_is_left_for_the_next_look(self, log: KernelLog, monkeypatch: pytest.MonkeyPatch) -> None:
        flood = iter([NVRM] * (RECORDS + 1))
        monkeypatch.setattr(os, "read", lambda _fd, _size: next(flood))
        assert f"(and {RECORDS - 3} more" in log.heard()
        assert next(flood) == NVRM

    def test_records_that_were_overwritten_unread_are_skipped(
        self, log: KernelLog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers: list[bytes | OSError] = [BrokenPipeError(), NVRM, BlockingIOError()]

        def read(_fd: int, _size: int) -> bytes:
            answer = answers.pop(0)
            if isinstance(answer, OSError):
                raise answer
            return answer

        monkeypatch.setattr(os, "read", read)
        assert "NV_ERR_NO_MEMORY" in log.heard()

    def test_the_real_one_never_waits(self) -> None:
        log = KernelLog()
        assert log._fd is None or not os.get_blocking(log._fd)
        heard = [log.heard() for _ in range(3)]
        assert all(words == "" or words.startswith("kernel log: ") for words in heard)
        log.close()
        assert log.heard() == ""


class TestGroupEvents:
    BEFORE = "low 0\nhigh 4\nmax 7\noom 0\noom_kill 0\noom_group_kill 0\n"

    def test_only_what_has_grown(self, tmp_path: Path) -> None:
        (tmp_path / "memory.events").write_text(self.BEFORE)
        events = GroupEvents(tmp_path)
        assert events.heard() == ""
        (tmp_path / "memory.events").write_text("low 0\nhigh 90\nmax 12\noom 1\noom_kill 2\noom_group_kill 0\n")
        assert events.heard() == (
            "memory events of the server's control group: max 7 -> 12, oom 0 -> 1, oom_kill 0 -> 2"
        )
        assert events.heard() == ""
        events.close()

    @pytest.mark.parametrize("text", ["", "max\n", "max x\n", "\n\n", "max 1 2\n"])
    def test_what_makes_no_sense_is_nothing(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "memory.events").write_text(text)
        events = GroupEvents(tmp_path)
        assert events.heard() == ""
        events.close()

    def test_a_group_without_memory_events(self, tmp_path: Path) -> None:
        events = GroupEvents(tmp_path)
        assert events.heard() == ""
        events.close()
        events.close()
        assert events.heard() == ""

    def test_a_group_that_is_gone(self) -> None:
        group = create_cgroup(f"guard-test-witness-{os.getpid()}")
        if group is None:
            pytest.skip("needs the right to make a cgroup: run as root")
        events = GroupEvents(group)
        assert remove_cgroup(group)
        assert events.heard() == ""
        events.close()
