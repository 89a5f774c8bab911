"""Measures `planes verify` and `planes build` against the machine's own limits and against other tools.

    python scripts/bench_planes.py [--folder DIR] [--size-gib 4] [--experts 192] [--rounds 3]

Every comparison is made in pairs, one right after the other, on files that are not in the page cache; the
table shows medians and the median of the ratios. Needs about `size-gib` + 20 MiB an expert of disk, and
removes its files.
"""

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).parent.parent))

from moet_boot.planes.checkpoint import Checkpoint
from moet_boot.planes.direct_io import AlignedBuffer
from moet_boot.planes.direct_write import DirectWriter
from moet_boot.planes.geometry import DS4_FLASH, Geometry
from moet_boot.planes.slot_hash import CHUNK_BYTES
from moet_boot.planes.verify import verify_file
from moet_boot.planes.verify_report import VerifyMode, VerifyOptions
from moet_boot.planes.workers import default_threads, run_in_threads
from moet_boot.units import GIB, MIB
from testing.bench_files import REVISION, write_checkpoint, write_plane_file
from testing.page_cache import drop_from_cache, resident_bytes

# runs one moet-boot command and tells the most memory that it held
CHILD = """
import sys
from moet_boot.cli.main import run
from moet_boot.planes.peak_memory import peak_rss_bytes
code = run(sys.argv[1:])
print(peak_rss_bytes(), file=sys.stderr)
sys.exit(code)
"""


@dataclass(frozen=True)
class Row:
    """One line of the result: what was measured, in words, and what it must reach."""

    what: str
    measured: str
    target: str
    reached: bool | None


@dataclass(frozen=True)
class Child:
    """A command that ran: its document, wall time and peak memory."""

    document: dict[str, float]
    seconds: float
    peak_rss_bytes: int


def main(
    folder: Annotated[Path | None, typer.Option(help="Where the files go; a temporary folder here by default.")] = None,
    size_gib: Annotated[float, typer.Option(help="Size of the plane file to verify.")] = 4.0,
    experts: Annotated[int, typer.Option(help="Experts of the checkpoint to build from, 12.75 MiB each.")] = 192,
    rounds: Annotated[int, typer.Option(help="Paired measurements of each comparison.")] = 3,
    threads: Annotated[int, typer.Option(help="Threads of verify and build.")] = default_threads(),
) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-planes-", dir=folder or Path.cwd()) as work:
        rows = [
            *bench_verify(Path(work), size_gib, rounds, threads),
            *bench_build(Path(work), experts, rounds, threads),
        ]
    print(f"\n{machine()}, {threads} threads, {datetime.now(UTC):%Y-%m-%d}\n")
    print("| measured | value | target | |\n|---|---|---|---|")
    for row in rows:
        mark = {True: "reached", False: "MISSED", None: ""}[row.reached]
        print(f"| {row.what} | {row.measured} | {row.target} | {mark} |")


def bench_verify(work: Path, size_gib: float, rounds: int, threads: int) -> list[Row]:
    """(a): verify against reading and hashing alone, sha256sum and openssl."""
    path = work / "planes.moet2pf"
    geometry = Geometry(1, round(size_gib * GIB / DS4_FLASH.slot_stride), DS4_FLASH.hidden, DS4_FLASH.inter)
    say(f"writing a plane file of {geometry.n_slots} slots")
    write_plane_file(path, geometry)
    to_limit, ours, cached = [], [], 0
    tools: dict[str, list[float]] = {"sha256sum": [], "openssl dgst -sha256": []}
    for number in range(rounds):
        say(f"verify, round {number + 1} of {rounds}")
        to_limit += [limit_over_verify(path, geometry, threads) for _ in range(3)]
        for tool, ratios in tools.items():
            ours.append(verify(path, threads))
            cached = max(cached, resident_bytes(path))
            if shutil.which(tool.split()[0]):
                ratios.append(run_tool(path, tool) / ours[-1].seconds)
    rss = max(child.peak_rss_bytes for child in ours)
    size = path.stat().st_size
    path.unlink()
    rates = [size / child.document["duration_s"] / GIB for child in ours]
    return [
        Row("verify --mode full", f"{statistics.median(rates):.2f} GiB/s", "", None),
        ratio("verify / reading and hashing without parsing", to_limit, 0.95),
        Row("page cache after verify", f"{cached / MIB:.1f} MiB", "< 32 MiB", cached < 32 * MIB),
        Row("peak memory of verify", f"{rss / MIB:.0f} MiB", "< 192 MiB", rss < 192 * MIB),
        ratio("verify / sha256sum, whole processes, cold", tools["sha256sum"], 4.0),
        ratio("verify / openssl dgst -sha256, whole processes, cold", tools["openssl dgst -sha256"], 1.2),
    ]


def bench_build(work: Path, experts: int, rounds: int, threads: int) -> list[Row]:
    """(b): build against reading the tensors and writing as much without packing."""
    folder, out = work / "checkpoint", work / "built.moet2pf"
    geometry = Geometry(1, experts, DS4_FLASH.hidden, DS4_FLASH.inter)
    say(f"writing a checkpoint of {experts} experts")
    write_checkpoint(folder, geometry)
    built, with_digest, limits = [], [], []
    for number in range(rounds):
        say(f"build, round {number + 1} of {rounds}")
        limits.append(read_and_write(folder, out, threads))
        built.append(build(folder, out, threads, "--no-digest"))
        limits[-1] = statistics.mean((limits[-1], read_and_write(folder, out, threads)))
        with_digest.append(build(folder, out, threads))
    size = geometry.n_slots * geometry.checkpoint_expert_bytes
    rate = statistics.median(size / child.document["duration_s"] / GIB for child in built)
    digest_rate = statistics.median(size / child.document["duration_s"] / GIB for child in with_digest)
    to_limit = [limit / child.document["duration_s"] for limit, child in zip(limits, built, strict=True)]
    rss = max(child.peak_rss_bytes for child in (*built, *with_digest))
    goal = ">= 0.5 GiB/s of checkpoint on 2 cores"
    return [
        Row("build, read back and compared (the default)", f"{digest_rate:.2f} GiB/s", goal, digest_rate >= 0.5),
        Row("build --no-digest", f"{rate:.2f} GiB/s", goal, rate >= 0.5),
        ratio("build / reading and writing without packing", to_limit, 0.8),
        Row("peak memory of build", f"{rss / MIB:.0f} MiB", "< 512 MiB", rss < 512 * MIB),
    ]


def ratio(what: str, ratios: list[float], target: float) -> Row:
    """A row of the median ratio, with its spread."""
    if not ratios:
        return Row(what, "not installed", f">= {target}", None)
    middle = statistics.median(ratios)
    return Row(what, f"{middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})", f">= {target}", middle >= target)


def limit_over_verify(path: Path, geometry: Geometry, threads: int) -> float:
    """How near a full verification in this process comes to the runs right before and after it; 1 is as fast."""
    before = read_and_hash(path, geometry, threads)
    ours = verify_file(path, VerifyOptions(mode=VerifyMode.FULL, threads=threads)).duration_s
    return statistics.mean((before, read_and_hash(path, geometry, threads))) / ours


def verify(path: Path, threads: int) -> Child:
    """`planes verify --mode full` of a file that is not in the page cache."""
    drop_from_cache(path)
    return moet_boot("verify", str(path), "--mode", "full", "--no-stamp", "--threads", str(threads))


def build(folder: Path, out: Path, threads: int, *more: str) -> Child:
    """`planes build`, its output removed again."""
    where = ["--checkpoint", str(folder), "--out", str(out), "--repo", "bench/random", "--revision", REVISION]
    done = moet_boot("build", *where, "--threads", str(threads), *more)
    out.unlink()
    return done


def moet_boot(*argv: str) -> Child:
    """Run one planes command in a process of its own."""
    started = time.perf_counter()
    command = [sys.executable, "-c", CHILD, "planes", *argv, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    return Child(json.loads(done.stdout), seconds, int(done.stderr.split()[-1]))


def run_tool(path: Path, tool: str) -> float:
    """Wall time of a digest tool on a file that is not in the page cache, in seconds."""
    drop_from_cache(path)
    started = time.perf_counter()
    subprocess.run([*tool.split(), str(path)], check=True, capture_output=True)
    seconds = time.perf_counter() - started
    drop_from_cache(path)  # the next pair starts cold too
    return seconds


def read_and_hash(path: Path, geometry: Geometry, threads: int) -> float:
    """Seconds to read the slots' bytes by O_DIRECT and hash them, knowing nothing of the format."""
    drop_from_cache(path)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)

    def make_work() -> Callable[[int], bytes]:
        view = AlignedBuffer(CHUNK_BYTES).view

        def work(start: int) -> bytes:
            digest = hashlib.sha256()
            for offset in range(start, start + geometry.slot_stride, CHUNK_BYTES):
                count = os.preadv(fd, [view[: start + geometry.slot_stride - offset]], offset)
                digest.update(view[:count])
            return digest.digest()

        return work

    started = time.perf_counter()
    starts = range(
        path.stat().st_size - geometry.n_slots * geometry.slot_stride, path.stat().st_size, geometry.slot_stride
    )
    for _ in run_in_threads(starts, make_work, threads):
        pass
    seconds = time.perf_counter() - started
    os.close(fd)
    return seconds


def read_and_write(folder: Path, out: Path, threads: int) -> float:
    """Seconds to read every expert's tensors and write as many bytes as its slot has, to a synced file."""
    started = time.perf_counter()
    with Checkpoint(folder) as checkpoint:
        geometry = checkpoint.geometry
        writer = DirectWriter(out)
        os.ftruncate(writer.fd, geometry.n_slots * geometry.slot_stride)

        def make_work() -> Callable[[int], None]:
            tensor, slot_bytes = AlignedBuffer(8 * MIB), AlignedBuffer(geometry.slot_stride)

            def work(slot: int) -> None:
                expert = checkpoint.expert(slot)
                for span in (expert.w1, expert.w3, expert.w1_scale, expert.w3_scale, expert.w2, expert.w2_scale):
                    span.shard.read(tensor, span.offset, span.size)
                writer.write(slot_bytes.view, slot * geometry.slot_stride)

            return work

        for _ in run_in_threads(range(geometry.n_slots), make_work, threads):
            pass
        os.fsync(writer.fd)
        writer.close()
    seconds = time.perf_counter() - started
    out.unlink()
    return seconds


def machine() -> str:
    """The machine in words."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        os.uname().machine,
    )
    return f"{len(os.sched_getaffinity(0))} x {model}, Linux {os.uname().release}"


def say(text: str) -> None:
    """Tell what is going on."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    typer.run(main)
