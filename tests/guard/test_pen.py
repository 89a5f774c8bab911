"""The pen: nobody waits for a disk."""

import os
from contextlib import suppress
from pathlib import Path

from moet_boot.guard.pen import Pen
from tests.guard.unruly import PATIENCE_S, until


def test_writes_in_order(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)
    pen = Pen()
    for i in range(500):
        pen.write(fd, b"%03d" % i)
    pen.write_at(fd, b"xyz", 3)
    assert pen.flush(PATIENCE_S)
    text = (tmp_path / "f").read_bytes()
    assert text == b"000xyz" + b"".join(b"%03d" % i for i in range(2, 500))
    assert pen.complaint() == ""
    os.close(fd)


def test_a_disk_that_hangs_holds_nobody_up_and_fills_no_memory() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(65536))
    except BlockingIOError:
        os.set_blocking(writer, True)
    pen = Pen(jobs=10)
    for _ in range(10_000):
        pen.write(writer, b"x" * 4096)
    assert not pen.flush(0.01)
    assert 9 <= len(pen._jobs) <= 10, "one may be in its hand"

    os.set_blocking(reader, False)

    def drained() -> bool:
        with suppress(BlockingIOError):
            os.read(reader, 1 << 20)
        return pen.flush(0.01)

    assert until(drained), "it goes on as soon as the disk does"
    pen.write(writer, b"the last")
    assert pen.flush(PATIENCE_S)
    os.close(writer)
    os.close(reader)


def test_a_complaint_is_made_once_and_writing_goes_on(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    good = os.open(tmp_path / "f", os.O_WRONLY | os.O_CREAT)
    pen = Pen()
    pen.write(full, b"1")
    pen.write(good, b"2")
    assert pen.flush(PATIENCE_S)
    assert pen.complaint() == "No space left on device"
    assert pen.complaint() == ""
    assert (tmp_path / "f").read_bytes() == b"2"
    os.close(full)
    os.close(good)
