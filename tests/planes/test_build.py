import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.errors import ArtefactDamagedError, MoetBootError, UsageError
from moet_boot.planes.build import BuildReport, build_planes
from moet_boot.planes.checkpoint import Checkpoint
from moet_boot.planes.direct_io import DirectReader
from moet_boot.planes.geometry import DS4_FLASH, Geometry
from moet_boot.planes.moet2pf import FileLayout
from moet_boot.planes.slots import slot_2bit
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from testing.checkpoints import SHARD, copy_checkpoint, write_checkpoint
from testing.golden import GOLDEN, golden_json
from testing.page_cache import resident_bytes
from testing.plane_file import OWN, REPO, REVISION, TINY, flip, put

GOLDEN_BYTES = OWN.read_bytes()
CHECKPOINT = GOLDEN / "iv_ckpt"


def build(folder: Path, out: Path, **options: Any) -> BuildReport:
    return build_planes(folder, out, repo=REPO, revision=REVISION, **options)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "planes.moet2pf"


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_the_golden_checkpoint_gives_the_golden_file_whatever_the_threads(threads: int, out: Path) -> None:
    report = build(CHECKPOINT, out, threads=threads)
    assert out.read_bytes() == GOLDEN_BYTES
    assert report.sha256 == golden_json("vii_moet2pf/expected.json")["own"]["sha256"]
    assert (report.slots, report.resumed) == (8, 0)
    assert report.bytes_read == 8 * TINY.checkpoint_expert_bytes
    assert report.bytes_written == len(GOLDEN_BYTES)
    assert report.peak_rss_bytes > 1 << 20
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize(("cpus", "turns"), [(1, 1), (2, 2), (20, 4)], ids=["one", "two", "many"])
def test_no_more_threads_pack_at_once_than_gain_by_it(
    cpus: int, turns: int, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    class Turns(threading.BoundedSemaphore):
        def __init__(self, value: int) -> None:
            made.append(value)
            super().__init__(value)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cpus)))
    monkeypatch.setattr("moet_boot.planes.build.threading.BoundedSemaphore", Turns)
    build(CHECKPOINT, out)
    assert made == [turns]


def test_without_a_digest_the_bytes_are_the_same(out: Path) -> None:
    assert build(CHECKPOINT, out, whole_file=False).sha256 is None
    assert out.read_bytes() == GOLDEN_BYTES


@pytest.mark.slow
@given(
    st.builds(
        Geometry,
        n_layers=st.integers(1, 2),
        n_experts=st.integers(1, 3),
        hidden=st.integers(1, 5).map(lambda x: 64 * x),
        inter=st.integers(1, 4).map(lambda x: 64 * x),
    ),
    st.integers(0, 1000),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_geometry_gives_the_slots_of_the_plain_layout(
    tmp_path_factory: pytest.TempPathFactory, geometry: Geometry, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    experts = write_checkpoint(folder / "checkpoint", geometry, seed)
    build(folder / "checkpoint", folder / "planes", threads=2)
    content, layout = (folder / "planes").read_bytes(), FileLayout(geometry)
    for slot, expert in enumerate(experts):
        start = layout.slot_offset(slot)
        assert content[start : start + geometry.slot_bytes] == slot_2bit(expert).tobytes()
    assert verify_file(folder / "planes", VerifyOptions(VerifyMode.FULL)).ok


@pytest.mark.slow
def test_the_full_size_expert(tmp_path: Path) -> None:
    geometry = Geometry(1, 1, DS4_FLASH.hidden, DS4_FLASH.inter)
    (expert,) = write_checkpoint(tmp_path / "checkpoint", geometry, seed=424_207)
    build(tmp_path / "checkpoint", tmp_path / "planes")
    slot = (tmp_path / "planes").read_bytes()[8192:]
    assert np.array_equal(np.frombuffer(slot, dtype=np.uint8), slot_2bit(expert))


def test_a_shard_that_changes_meanwhile_is_an_error_and_gives_no_file(out: Path, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)

    def touch(done: int, total: int) -> None:
        if done == total:
            flip(folder / SHARD, (folder / SHARD).stat().st_size - 1)
            os.utime(folder / SHARD, ns=(0, 0))

    with pytest.raises(ArtefactDamagedError, match=f"{SHARD} changed while"):
        build(folder, out, on_slots=touch)
    assert not out.exists()
    assert build(folder, out).resumed == 0


def test_a_shard_with_a_hole_is_not_packed_as_zeros(out: Path, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    whole = (folder / SHARD).read_bytes()
    (folder / SHARD).write_bytes(whole[:100_000])
    os.truncate(folder / SHARD, len(whole))
    with pytest.raises(ArtefactDamagedError, match=f"{SHARD} was never written from byte 102400 to 211784"):
        build(folder, out)
    assert list(out.parent.iterdir()) == []


def test_a_hole_outside_of_the_experts_does_not_matter(out: Path, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    shard = folder / "model-00003-of-00003.safetensors"
    size = shard.stat().st_size
    os.truncate(shard, 50_000)
    os.truncate(shard, size)
    build(folder, out)
    assert out.read_bytes() == GOLDEN_BYTES


def test_scales_that_are_all_zero_were_never_written(out: Path, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    with Checkpoint(folder) as checkpoint:
        span = checkpoint.expert(2).w2_scale
    put(folder / SHARD, span.offset, bytes(span.size))
    with pytest.raises(ArtefactDamagedError, match=f"{SHARD}: the scales of layer 0 expert 2 are all zero"):
        build(folder, out)
    assert not out.exists()


def test_slots_of_a_shard_whose_time_was_put_back_are_not_resumed(out: Path, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    shard = folder / SHARD
    times = (shard.stat().st_atime_ns, shard.stat().st_mtime_ns)

    def stop(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(folder, out, on_slots=stop)
    flip(shard, shard.stat().st_size - 1)
    os.utime(shard, ns=times)
    assert build(folder, out).resumed == 0


def test_neither_the_checkpoint_nor_the_result_enters_the_page_cache(out: Path, tmp_path: Path) -> None:
    from testing.page_cache import drop_from_cache

    folder = copy_checkpoint(tmp_path)
    shards = sorted(folder.glob("*.safetensors"))
    for shard in shards:
        drop_from_cache(shard)
    build(folder, out)
    assert [resident_bytes(shard) for shard in shards] == [0, 0, 0]
    assert resident_bytes(out) <= 4096


def killed_build(out: Path, countdown: int, when: str) -> int:
    command = [sys.executable, "-m", "testing.killed_build", str(CHECKPOINT), str(out), REPO, REVISION]
    return subprocess.run([*command, str(countdown), when], check=False).returncode


# calls in their order: the mark, two for each slot, the table, fsync, the header, fsync, rename, fsync of the folder
@pytest.mark.parametrize(
    ("countdown", "when", "resumed"),
    [(1, "before", 0), (2, "after", 0), (12, "before", 5), (19, "after", 8), (21, "after", 0)],
    ids=["mark", "first slot", "later slot", "table", "header"],
)
@pytest.mark.slow
def test_a_build_killed_anywhere_leaves_nothing_and_goes_on(out: Path, countdown: int, when: str, resumed: int) -> None:
    assert killed_build(out, countdown, when) == -9
    assert not out.exists()
    report = build(CHECKPOINT, out)
    assert out.read_bytes() == GOLDEN_BYTES
    assert report.resumed == resumed
    assert list(out.parent.iterdir()) == [out]


def test_a_build_killed_after_the_rename_is_whole(out: Path) -> None:
    assert killed_build(out, 22, "after") == -9
    assert out.read_bytes() == GOLDEN_BYTES


def test_a_damaged_slot_of_an_earlier_run_is_built_anew(out: Path) -> None:
    killed_build(out, 12, "before")
    partial = out.with_name(".planes.moet2pf.partial")
    flip(partial, 8192 + TINY.slot_stride)
    assert build(CHECKPOINT, out).resumed == 4
    assert out.read_bytes() == GOLDEN_BYTES


def test_work_on_another_checkpoint_is_not_resumed(out: Path, tmp_path: Path) -> None:
    killed_build(out, 12, "before")
    folder = copy_checkpoint(tmp_path)
    os.utime(folder / SHARD)
    assert build(folder, out).resumed == 0
    assert out.read_bytes() == GOLDEN_BYTES


def test_a_wrong_byte_in_the_checkpoint_gives_another_file(out: Path, tmp_path: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    flip(folder / SHARD, 100_000, bit=3)
    build(folder, out)
    assert out.read_bytes() != GOLDEN_BYTES


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
def test_a_failing_disk_leaves_no_file_and_work_to_go_on_with(
    out: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, left = os.pwrite, [9]

    def pwrite(*args: Any) -> int:
        left[0] -= 1
        if left[0] <= 0:
            raise OSError(number, os.strerror(number))
        return whole(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", pwrite)
        with pytest.raises(MoetBootError, match=r"no space left|cannot be written"):
            build(CHECKPOINT, out, threads=1)
    assert not out.exists()
    assert 1 <= build(CHECKPOINT, out).resumed <= 3  # the kernel may take a write in two pieces
    assert out.read_bytes() == GOLDEN_BYTES


def test_a_shard_that_cannot_be_read_is_named(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.preadv

    def preadv(fd: int, buffers: Any, offset: int) -> int:
        if offset >= 100_000:
            raise OSError(errno.EIO, "Input/output error")
        return whole(fd, buffers, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    with pytest.raises(ArtefactDamagedError, match=r"00001-of-00003.safetensors cannot be read: Input/output"):
        build(CHECKPOINT, out, threads=1)
    assert not out.exists()


def test_short_reads_and_writes_change_nothing(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.preadv, os.pwrite
    monkeypatch.setattr(os, "preadv", lambda fd, buffers, offset: min(8192, read(fd, buffers, offset)))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: min(8192, write(fd, data, offset)))
    build(CHECKPOINT, out)
    assert out.read_bytes() == GOLDEN_BYTES


def test_a_result_that_cannot_be_read_back_gets_no_name(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("moet_boot.planes.read_back.whole_file_sha256", fail)
    with pytest.raises(ArtefactDamagedError, match="cannot be read: Input/output error"):
        build(CHECKPOINT, out)
    assert not out.exists()


def test_what_the_disk_lost_is_found_and_only_that_is_built_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(partial: Path) -> DirectReader:
        flip(partial, 4096 + 1)
        for slot in (2, 5):
            flip(partial, 8192 + slot * TINY.slot_stride + 77)
        return DirectReader(partial)

    with monkeypatch.context() as patched:
        patched.setattr("moet_boot.planes.read_back.DirectReader", lose)
        with pytest.raises(ArtefactDamagedError, match="as it was written: its table, slot 2, slot 5") as failure:
            build(CHECKPOINT, out)
    assert "the same command" in failure.value.fix
    assert not out.exists()
    assert build(CHECKPOINT, out).resumed == 5  # slot 0 is not: its entry is what the table lost
    assert out.read_bytes() == GOLDEN_BYTES


@pytest.mark.parametrize("given", [REVISION, "f" * 40], ids=["right", "wrong"])
def test_a_snapshot_of_the_hub_must_have_the_revision_that_is_given(given: str, tmp_path: Path, out: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    folder = copy_checkpoint(tmp_path / "snapshots").rename(tmp_path / "snapshots" / REVISION)
    if given == REVISION:
        assert build_planes(folder, out, repo=REPO, revision=given).slots == 8
        return
    with pytest.raises(ArtefactDamagedError, match=f"is revision {REVISION}, not ffff"):
        build_planes(folder, out, repo=REPO, revision=given)


def test_a_broken_checkpoint_is_refused_before_anything_is_written(tmp_path: Path, out: Path) -> None:
    folder = copy_checkpoint(tmp_path)
    os.truncate(folder / SHARD, 1000)
    with pytest.raises(ArtefactDamagedError, match="truncated"):
        build(folder, out)
    assert list(out.parent.iterdir()) == []


def test_a_repo_that_does_not_fit_is_refused_before_anything_is_written(out: Path) -> None:
    with pytest.raises(UsageError, match="repo"):
        build_planes(CHECKPOINT, out, repo="", revision=REVISION)
    assert list(out.parent.iterdir()) == []


def test_progress_counts_the_checkpoint_and_then_the_result(out: Path) -> None:
    slots: list[tuple[int, int]] = []
    whole: list[tuple[int, int]] = []
    build(
        CHECKPOINT,
        out,
        on_slots=lambda done, total: slots.append((done, total)),
        on_whole_file=lambda done, total: whole.append((done, total)),
    )
    assert [done for done, _ in slots] == [52_224 * count for count in range(1, 9)]
    assert slots[-1][1] == 8 * 52_224
    assert whole[-1] == (237_568, 237_568)


@pytest.mark.slow
def test_peak_memory_at_full_geometry(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "checkpoint", Geometry(1, 32, DS4_FLASH.hidden, DS4_FLASH.inter), seed=1)
    command = [sys.executable, "-m", "moet_boot", "planes", "build", "--json", "--threads", "24"]
    where = ["--checkpoint", str(tmp_path / "checkpoint"), "--out", str(tmp_path / "planes")]
    run = subprocess.run([*command, *where, "--repo", REPO, "--revision", REVISION], check=True, capture_output=True)
    assert json.loads(run.stdout)["peak_rss_bytes"] < 512 << 20
