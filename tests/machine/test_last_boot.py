import platform
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.machine.last_boot import BOOT_TIME, RUN_LVL, Record, ended_cleanly, parse_wtmp, read_last_boot
from moet_boot.machine.tree import UnreadError
from tests.machine.trees import tree_of

USER_PROCESS, DEAD_PROCESS = 7, 8
BOOT, SHUTDOWN = Record(BOOT_TIME, "reboot"), Record(RUN_LVL, "shutdown")
RUNLEVEL, LOGIN = Record(RUN_LVL, "runlevel"), Record(USER_PROCESS, "someone")


def packed(records: list[Record], size: int) -> bytes:
    return b"".join(
        struct.pack("<h2xi32s4s32s", r.kind, 100, b"~", b"~~", r.user.encode()).ljust(size, b"\0") for r in records
    )


@pytest.mark.parametrize(
    ("records", "clean"),
    [
        pytest.param([BOOT, RUNLEVEL, LOGIN, SHUTDOWN, BOOT, RUNLEVEL], True, id="shut-down"),
        pytest.param([BOOT, RUNLEVEL, LOGIN, BOOT, RUNLEVEL], False, id="power-cut"),
        pytest.param([BOOT, SHUTDOWN, BOOT, BOOT], False, id="only-the-last-boot-counts"),
        pytest.param([BOOT, BOOT, SHUTDOWN, BOOT], True, id="an-older-crash-does-not-count"),
        pytest.param([SHUTDOWN, BOOT], True, id="rotated-after-the-boot-before"),
        pytest.param([BOOT, LOGIN], None, id="first-boot"),
        pytest.param([LOGIN, BOOT], None, id="rotated-too-late"),
        pytest.param([LOGIN], None, id="no-boot"),
        pytest.param([], None, id="empty"),
    ],
)
def test_whether_a_shutdown_stands_before_this_boot(records: list[Record], clean: bool | None) -> None:
    assert ended_cleanly(records) is clean


@pytest.mark.parametrize("size", [384, 400])
def test_records_of_both_architectures(size: int) -> None:
    records = [BOOT, LOGIN, SHUTDOWN]
    assert list(parse_wtmp(packed(records, size), size)) == records


def test_a_file_of_another_layout() -> None:
    with pytest.raises(UnreadError, match="not made of records"):
        list(parse_wtmp(packed([BOOT], 400), 384))


def test_a_file_of_something_else() -> None:
    with pytest.raises(UnreadError, match="unknown type"):
        list(parse_wtmp(b"\x7f" * 384, 384))


@given(st.binary(max_size=2000))
def test_any_bytes_are_records_or_refused(content: bytes) -> None:
    try:
        records = list(parse_wtmp(content, 384))
    except UnreadError:
        return
    assert len(records) * 384 == len(content)


def wtmp(records: list[Record]) -> dict[str, bytes]:
    return {"/var/log/wtmp": packed(records, {"aarch64": 400}.get(platform.machine(), 384))}


def test_reading(tmp_path: Path) -> None:
    assert read_last_boot(tree_of(tmp_path, wtmp([BOOT, LOGIN, BOOT]))).clean_shutdown is False


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    records = [BOOT, SHUTDOWN, BOOT, *[LOGIN] * 4000, BOOT]
    with pytest.raises(UnreadError, match="does not reach back"):
        read_last_boot(tree_of(tmp_path, wtmp(records)))


def test_an_empty_log_of_a_container(tmp_path: Path) -> None:
    with pytest.raises(UnreadError, match="does not reach back"):
        read_last_boot(tree_of(tmp_path, wtmp([])))


def test_an_architecture_whose_layout_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(UnreadError, match="riscv64"):
        read_last_boot(tree_of(tmp_path, wtmp([BOOT])))
