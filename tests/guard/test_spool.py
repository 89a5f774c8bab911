"""The spool: every sample comes back, also from the file of a process that was killed while it wrote."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, ArtefactMissingError, MoetBootError
from moet_boot.guard.sample import Action, Sample
from moet_boot.guard.spool import CAPACITY, MAGIC, SpoolWriter, read_records, read_spool
from moet_boot.phases import Phase
from tests.guard.scenes import look

SIZES = st.none() | st.integers(0, 1 << 50)
SAMPLES = st.builds(
    Sample,
    st.floats(0, 1e9),
    SIZES,
    SIZES,
    SIZES,
    st.none() | st.floats(0, 100, width=32),
    st.none() | st.integers(0, 1 << 50),
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(SAMPLES, st.none() | st.sampled_from(Phase), st.sampled_from(Action)), max_size=40),
    st.integers(1, 20),
)
def test_the_newest_samples_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[Sample, Phase | None, Action]],
    capacity: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "ring.spool"
    writer = SpoolWriter(path, capacity)
    for sample, phase, action in records:
        writer.append(sample, phase, action)
    expected = records[-capacity:]
    assert read_records(path) == expected, "while it is open"
    writer.close()
    assert read_records(path) == expected, "afterwards"
    assert read_spool(path) == [sample for sample, _, _ in expected]


def test_a_torn_record_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    writer = SpoolWriter(path, 4)
    for i in range(6):
        writer.append(look(i, 10))
    with path.open("r+b") as file:
        file.seek(64 + 56)  # the second slot holds number 6, the last one
        file.write(bytes(8))
    assert [s.t_s for s in read_spool(path)] == [2.0, 3.0, 4.0]


def test_a_record_of_a_later_version_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    SpoolWriter(path, 4).append(look(1, 10))
    with path.open("r+b") as file:
        file.seek(64 + 8 + 8 * 5 + 4)
        file.write(b"\xff\xff")
    assert read_spool(path) == []


def test_the_usual_size(tmp_path: Path) -> None:
    SpoolWriter(tmp_path / "spool")
    assert (tmp_path / "spool").stat().st_size == 64 + 56 * CAPACITY
    assert CAPACITY / 4 > 4 * 3600, "hours of a boot at four looks a second"
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o600


KILLED = """
import sys, time
from pathlib import Path
from moet_boot.guard.sample import Sample
from moet_boot.guard.spool import SpoolWriter
writer = SpoolWriter(Path(sys.argv[1]), 64)
for i in range(1, 100000000):
    writer.append(Sample(float(i), i, i, i, 1.0, i))
    if i == 500:
        print("going", flush=True)
"""


def test_the_last_samples_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    with writer.stdout as words:
        words.readline()
        writer.kill()
    assert writer.wait() == -signal.SIGKILL
    samples = read_spool(path)
    assert len(samples) >= 63
    assert samples[-1].t_s >= 500
    assert [s.available for s in samples] == list(range(int(samples[0].t_s), int(samples[-1].t_s) + 1))


DAMAGE = {
    "empty": b"",
    "short": b"MOETSPL1",
    "another format": b"\x89PNG" + bytes(200),
    "another record size": MAGIC + (57).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(200),
    "no capacity": MAGIC + (56).to_bytes(4, "little") + bytes(200),
    "more capacity than file": MAGIC + (56).to_bytes(4, "little") + (9).to_bytes(4, "little") + bytes(200),
    "endless capacity": MAGIC + (56).to_bytes(4, "little") + b"\xff" * 4 + bytes(200),
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE.keys())
def test_one_clear_error_for_what_is_no_spool(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.spool"
    path.write_bytes(content)
    with pytest.raises(ArtefactDamagedError, match=r"x\.spool is no spool of this version"):
        read_spool(path)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ArtefactMissingError, match="there is no spool"):
        read_spool(tmp_path / "x")
    with pytest.raises(ArtefactDamagedError, match="cannot read"):
        read_spool(tmp_path)


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_anything_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, tail: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.spool"
    path.write_bytes(MAGIC + (56).to_bytes(4, "little") + (3).to_bytes(4, "little") + tail)
    try:
        assert len(read_spool(path)) <= 3
    except MoetBootError:
        assert len(tail) < 48 + 3 * 56


def test_a_disk_that_is_full_shows_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, offset: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(MoetBootError, match="No space left") as error:
        SpoolWriter(tmp_path / "spool")
    assert error.value.fix


def test_a_folder_that_does_not_exist_shows_at_once(tmp_path: Path) -> None:
    with pytest.raises(MoetBootError, match="cannot make the guard's spool"):
        SpoolWriter(tmp_path / "no" / "spool")
