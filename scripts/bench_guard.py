"""The memory guard side by side with Debian's earlyoom: same machine, same hog, same floor, one run.

    python scripts/bench_guard.py [--runs 20] [--gib 3.0] [--json FILE]

A hog takes memory as fast as the machine gives it; the floor is set `--gib` below what is available at the start, so
the machine is never in danger. Measured by a third process's eyes: how far MemAvailable went below the floor, and how
long after the floor was crossed the hog was dead. A fall that is ended before the floor has no crossing: then the time
counts from the moment at which it would have crossed at the rate it had.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from moet_boot.guard.config import GuardConfig
from moet_boot.guard.floors import Floors
from moet_boot.guard.handle import GuardHandle, start_guard
from moet_boot.guard.isolated import isolated
from moet_boot.guard.messages import Target
from moet_boot.guard.sampler import Sampler
from moet_boot.units import GIB, KIB, from_gib

KEEP = from_gib(6)
"""Never less than this is available: other programs run here too."""
DEEPEST = from_gib(1.5)
"""The hog stops by itself so far below the floor."""
ABOVE = from_gib(1)
PAUSE_S = 0.0003
SETTLE_S = 0.4


@dataclass(frozen=True)
class Fall:
    """One fall. Bytes, bytes a second, seconds. `late_s`: from the crossing of the floor to the hog's death."""

    killed: bool
    undershoot: int
    late_s: float
    rate: float
    crossed: bool


def available(eyes: Sampler) -> int:
    """MemAvailable now."""
    size = eyes.read().available
    if size is None:
        raise SystemExit("this kernel tells no MemAvailable")
    return size


def run_hog(size: int, hold_s: float = 1.0) -> "subprocess.Popen[bytes]":
    """Start a hog that will take `size` bytes."""
    return subprocess.Popen(isolated("moet_boot.guard.hog", str(size), str(hold_s)), start_new_session=True)


def observe(eyes: Sampler, hog: "subprocess.Popen[bytes]", floor: int) -> Fall:
    """Look at the fall until the hog is dead."""
    curve: list[tuple[float, int]] = []
    poll = select.poll()
    poll.register(os.pidfd_open(hog.pid), select.POLLIN)
    while not poll.poll(0):
        sample = eyes.read()
        curve.append((sample.t_s, sample.available or 0))
        time.sleep(PAUSE_S)
    dead = time.monotonic()
    killed = hog.wait() == -9
    return judge(curve, dead, floor, killed=killed)


def judge(curve: list[tuple[float, int]], dead: float, floor: int, *, killed: bool) -> Fall:
    """The figures of a curve of (seconds, bytes)."""
    lowest = min(size for _, size in curve)
    bottom = next(t for t, size in curve if size == lowest)
    start = curve[0][1]
    # the rate over the middle of the fall: neither its start nor its end is steady
    high, low = start - (start - lowest) // 4, lowest + (start - lowest) // 4
    inner = [(t, size) for t, size in curve if low <= size <= high and t <= bottom]
    rate = (inner[0][1] - inner[-1][1]) / max(inner[-1][0] - inner[0][0], 1e-6)
    crossing = next((t for t, size in curve if size < floor), None)
    if crossing is None:
        crossing = bottom + (lowest - floor) / max(rate, 1.0)
        return Fall(killed, 0, dead - crossing, rate, crossed=False)
    return Fall(killed, floor - lowest, dead - crossing, rate, crossed=True)


@contextlib.contextmanager
def our_guard(floor: int, folder: Path) -> Iterator[GuardHandle]:
    """Our guard with a hard floor, in the state of a boot."""
    floors = Floors(hard_floor=floor, serving_floor=floor, serving_hard_floor=floor, projection_ceiling=floor * 4)
    handle = start_guard(GuardConfig(floors, folder / "spool", folder / "events.ndjson"))
    try:
        yield handle
    finally:
        handle.stop()


@contextlib.contextmanager
def earlyoom(floor: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Debian's earlyoom, told to SIGKILL the hog at the same floor."""
    size = f"{floor // KIB},{floor // KIB}"
    command = ["earlyoom", "-M", size, "-s", "100,100", "-r", "0", "--prefer", "^moet-hog$"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(SETTLE_S)
    if process.poll() is not None:
        raise SystemExit(f"earlyoom did not start: {' '.join(command)}")
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def fall(eyes: Sampler, who: str, below: int, extra: int, folder: Path) -> Fall:
    """One fall from what is available now to `below` bytes less, and `extra` more if nobody ends it."""
    time.sleep(SETTLE_S)
    now = available(eyes)
    if now - below - extra < KEEP:
        raise SystemExit(f"only {now / GIB:.1f} GiB available: too little for a fall of {(below + extra) / GIB:.1f} GiB")
    floor = now - below
    if who == "earlyoom":
        with earlyoom(floor):
            return observe(eyes, run_hog(below + extra), floor)
    with our_guard(floor, folder) as handle:
        hog = run_hog(below + extra)
        handle.guard(Target((hog.pid,)))
        return observe(eyes, hog, floor)


def at_rest(folder: Path, seconds: float) -> dict[str, float]:
    """CPU share in percent of one core and RSS in MiB of our guard with plenty of memory and one process to guard."""
    sleeper = subprocess.Popen(["sleep", str(seconds + 10)], start_new_session=True)
    with our_guard(GIB, folder) as handle:
        handle.guard(Target((sleeper.pid,)))
        time.sleep(1.0)
        before = cpu_seconds(handle.pid)
        time.sleep(seconds)
        share = (cpu_seconds(handle.pid) - before) / seconds * 100
        rss = next(line for line in Path(f"/proc/{handle.pid}/status").read_text().splitlines() if "VmRSS" in line)
    sleeper.kill()
    sleeper.wait()
    return {"cpu_pct": share, "rss_mib": int(rss.split()[1]) / 1024}


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, all threads, exact to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def summary(name: str, falls: list[Fall]) -> dict[str, float | str]:
    """The figures of one killer over all falls."""
    under = [f.undershoot / GIB for f in falls]
    late = [f.late_s * 1000 for f in falls]
    return {
        "name": name,
        "killed": sum(f.killed for f in falls),
        "crossed": sum(f.crossed for f in falls),
        "under_median": statistics.median(under),
        "under_worst": max(under),
        "late_median": statistics.median(late),
        "late_worst": max(late),
        "rate_min": min(f.rate for f in falls) / GIB,
        "rate_max": max(f.rate for f in falls) / GIB,
    }


def table(rows: list[dict[str, float | str]], runs: int) -> str:
    """The figures in markdown."""
    head = (
        "| killer | killed | crossed the floor | undershoot GiB, median / worst | crossing to dead ms, median / worst "
        "| fall GiB/s |\n|---|--:|--:|--:|--:|--:|"
    )
    lines = [
        f"| {r['name']} | {r['killed']}/{runs} | {r['crossed']}/{runs} | {r['under_median']:.3f} / {r['under_worst']:.3f} "
        f"| {r['late_median']:.0f} / {r['late_worst']:.0f} | {r['rate_min']:.1f}-{r['rate_max']:.1f} |"
        for r in rows
    ]
    return "\n".join([head, *lines])


def main() -> int:
    """Run the benchmark and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--gib", type=float, default=3.0, help="how far the floor is below what is available")
    parser.add_argument("--rest", type=float, default=20.0, help="seconds of measuring at rest")
    parser.add_argument("--json", type=Path, help="write all falls there")
    options = parser.parse_args()
    if shutil.which("earlyoom") is None:
        raise SystemExit("earlyoom is missing: apt-get install earlyoom (and stop its service)")
    eyes, below = Sampler(time.monotonic), from_gib(options.gib)
    falls: dict[str, list[Fall]] = {"earlyoom": [], "moet-boot": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(options.runs):
            for who, done in falls.items():
                done.append(fall(eyes, who, below, DEEPEST, folder))
        level = [fall(eyes, "moet-boot", below, -ABOVE, folder) for _ in range(options.runs)]
        rest = at_rest(folder, options.rest)
    report(falls, level, rest, options.runs)
    if options.json:
        body = {**{who: [asdict(f) for f in done] for who, done in falls.items()}, "level": [asdict(f) for f in level]}
        options.json.write_text(json.dumps({**body, "rest": rest}, indent=1))
    return 0


def report(falls: dict[str, list[Fall]], level: list[Fall], rest: dict[str, float], runs: int) -> None:
    """Print table and ratios."""
    version = subprocess.run(["earlyoom", "-v"], capture_output=True, text=True, check=False)
    words = (version.stdout + version.stderr).split("\n")[0]
    theirs, ours = (summary(name, falls[key]) for key, name in (("earlyoom", words), ("moet-boot", "moet-boot guard")))
    model = next((x.split(":")[1].strip() for x in Path("/proc/cpuinfo").open() if x.startswith("model name")), "?")
    print(f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}, {os.cpu_count()} cores {model}, Linux {platform.release()}")
    print(table([theirs, ours], runs))
    for key, label in (("under_worst", "worst undershoot"), ("late_median", "median crossing to dead"),
                       ("late_worst", "worst crossing to dead")):  # fmt: skip
        print(f"{label}: {float(ours[key]) / max(float(theirs[key]), 1e-9):.2f} of earlyoom's")
    print(f"falls that level off {ABOVE / GIB:.0f} GiB above the floor: {sum(f.killed for f in level)} of {runs} killed")
    print(f"at rest: {rest['cpu_pct']:.2f} % of one core, {rest['rss_mib']:.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
