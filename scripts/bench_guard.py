"""The memory guard side by side with Debian's earlyoom: same machine, same hog, same floor, one run.

    python scripts/bench_guard.py [--runs 20] [--gib 3.0] [--json FILE]

A hog takes memory as fast as the machine gives it; the floor is set `--gib` below what is available at the start, so
the machine is never in danger. Measured by the eyes of a third process: how far MemAvailable went below the floor, and
how long after the crossing of the floor the hog was dead. A fall that is ended above the floor has no crossing: then
the time counts from the moment at which it would have crossed at the rate that it had.

Needs root, util-linux and earlyoom. earlyoom runs in a pid namespace where it sees nobody but the hog: below a floor
that is set so high it would go on and kill whatever is biggest.
"""

import argparse
import datetime as dt
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from moet_boot.guard.config import GuardConfig
from moet_boot.guard.fall_record import FallRecord, observe
from moet_boot.guard.floors import Floors
from moet_boot.guard.handle import GuardHandle, start_guard
from moet_boot.guard.isolated import isolated
from moet_boot.guard.messages import Target
from moet_boot.guard.processes import list_pids, read_process
from moet_boot.guard.rehearse import let_go, start_hog
from moet_boot.guard.sampler import Sampler
from moet_boot.units import GIB, KIB, from_gib

KEEP = from_gib(6)
"""Never less than this is available: other programs run here too."""
DEEPEST = from_gib(1.5)
"""The hog stops by itself so far below the floor."""
ABOVE = from_gib(1)
SETTLE_S = 0.5
TRIES = 5
OURS, THEIRS = "moet-boot guard", "earlyoom"


@dataclass(frozen=True)
class Row:
    """The figures of one killer over all falls: GiB, milliseconds, GiB a second."""

    name: str
    runs: int
    killed: int
    crossed: int
    under_median: float
    under_worst: float
    late_median: float
    late_worst: float
    slowest: float
    fastest: float

    def markdown(self) -> str:
        return (
            f"| {self.name} | {self.killed}/{self.runs} | {self.crossed}/{self.runs} "
            f"| {self.under_median:.3f} / {self.under_worst:.3f} | {self.late_median:.0f} / {self.late_worst:.0f} "
            f"| {self.slowest:.1f}-{self.fastest:.1f} |"
        )


HEAD = (
    "| killer | killed | crossed the floor | undershoot GiB, median / worst | crossing to dead ms, median / worst "
    "| fall GiB/s |\n|---|--:|--:|--:|--:|--:|"
)


def available(eyes: Sampler) -> int:
    size = eyes.read().available
    if size is None:
        raise SystemExit("this kernel tells no MemAvailable")
    return size


def child_of(pid: int) -> int:
    """The pid of the one child of a process, as soon as it is there."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        for candidate in list_pids():
            process = read_process(candidate)
            if process and process.ppid == pid:
                return candidate
        time.sleep(0.01)
    raise SystemExit(f"process {pid} has started no child")


@contextmanager
def our_guard(floor: int, folder: Path) -> Iterator[GuardHandle]:
    """Our guard with a hard floor, in the state of a boot."""
    floors = Floors(hard_floor=floor, serving_floor=floor, serving_hard_floor=floor, projection_ceiling=floor * 4)
    handle = start_guard(GuardConfig(floors, folder / "spool", folder / "events.ndjson"))
    try:
        yield handle
    finally:
        handle.stop()


@contextmanager
def earlyoom(floor: int) -> Iterator[int]:
    """Debian's earlyoom at its best priority, told to SIGKILL at the same floor; its pid, the namespace's first."""
    size = f"{floor // KIB},{floor // KIB}"
    command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    command += ["earlyoom", "-M", size, "-s", "100,100", "-r", "0", "-p", "--prefer", "^moet-hog$"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pid = child_of(process.pid)
        time.sleep(SETTLE_S)
        if process.poll() is not None:
            raise SystemExit(f"earlyoom did not start: {' '.join(command)}")
        yield pid
    finally:
        process.kill()
        process.wait()


def ended_by_earlyoom(eyes: Sampler, floor: int, take: int) -> FallRecord:
    with earlyoom(floor) as pid:
        enter = ["nsenter", "--target", str(pid), "--pid", "--mount"]
        hog = subprocess.Popen([*enter, *isolated("moet_boot.guard.hog", str(take))], stdin=subprocess.PIPE)
        hog_pid = child_of(hog.pid)
        time.sleep(SETTLE_S)
        return observe(eyes, hog_pid, floor, go=lambda: let_go(hog), status=hog.wait)


def ended_by_us(eyes: Sampler, floor: int, take: int, folder: Path) -> FallRecord:
    with our_guard(floor, folder) as handle:
        hog = start_hog(take)
        handle.guard(Target((hog.pid,)))
        time.sleep(SETTLE_S)
        return observe(eyes, hog.pid, floor, go=lambda: let_go(hog), status=hog.wait)


def fall_to_the_floor(eyes: Sampler, who: str, below: int, folder: Path) -> FallRecord:
    """One fall that somebody had to end; again if others gave back so much memory that it never came to the floor."""
    for _ in range(TRIES):
        record = fall(eyes, who, below, DEEPEST, folder)
        if record.killed or record.crossed:
            return record
        print("again: others gave memory back meanwhile, the floor was never reached", file=sys.stderr)
    raise SystemExit("this machine is too busy to measure on")


def fall(eyes: Sampler, who: str, below: int, extra: int, folder: Path) -> FallRecord:
    """One fall from what is available now to `below` bytes less, and `extra` more if nobody ends it."""
    time.sleep(SETTLE_S)
    now, take = available(eyes), below + extra
    if now - take < KEEP:
        raise SystemExit(f"only {now / GIB:.1f} GiB available: too little for a fall of {take / GIB:.1f} GiB")
    if who == THEIRS:
        return ended_by_earlyoom(eyes, now - below, take)
    return ended_by_us(eyes, now - below, take, folder)


def at_rest(folder: Path, seconds: float) -> tuple[float, float]:
    """CPU in percent of one core and RSS in MiB of our guard, with plenty of memory and one process to guard."""
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
    return share, int(rss.split()[1]) / 1024


def cpu_seconds(pid: int) -> float:
    """CPU time of a process, all threads, exact to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def row(name: str, falls: list[FallRecord]) -> Row:
    under = [f.undershoot / GIB for f in falls]
    late = [f.late_s * 1000 for f in falls]
    return Row(
        name=name,
        runs=len(falls),
        killed=sum(f.killed for f in falls),
        crossed=sum(f.crossed for f in falls),
        under_median=statistics.median(under),
        under_worst=max(under),
        late_median=statistics.median(late),
        late_worst=max(late),
        slowest=min(f.rate for f in falls) / GIB,
        fastest=max(f.rate for f in falls) / GIB,
    )


def machine() -> str:
    cpu = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in cpu if line.startswith("model name")), platform.machine())
    today = dt.datetime.now(tz=dt.UTC).strftime("%Y-%m-%d")
    load = os.getloadavg()[0]
    return f"{today}, {os.cpu_count()} cores {model}, Linux {platform.release()}, load {load:.1f} at the start"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--gib", type=float, default=3.0, help="how far the floor is below what is available")
    parser.add_argument("--rest", type=float, default=20.0, help="seconds of measuring at rest")
    parser.add_argument("--json", type=Path, help="write all falls there")
    return parser.parse_args()


def main() -> int:
    """Run the benchmark and print it."""
    options = parse()
    if shutil.which("earlyoom") is None:
        raise SystemExit("earlyoom is missing: apt-get install earlyoom (and stop its service)")
    eyes, below, where = Sampler(time.monotonic), from_gib(options.gib), machine()
    falls: dict[str, list[FallRecord]] = {THEIRS: [], OURS: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(options.runs):
            for who, done in falls.items():
                done.append(fall_to_the_floor(eyes, who, below, folder))
        level = [fall(eyes, OURS, below, -ABOVE, folder) for _ in range(options.runs)]
        cpu_pct, rss_mib = at_rest(folder, options.rest)
    theirs, ours = row("earlyoom", falls[THEIRS]), row(OURS, falls[OURS])
    print(where, HEAD, theirs.markdown(), ours.markdown(), sep="\n")
    print(f"worst undershoot: {ours.under_worst / max(theirs.under_worst, 1e-9):.2f} of earlyoom's")
    print(f"median crossing to dead: {ours.late_median / theirs.late_median:.2f} of earlyoom's")
    print(f"worst crossing to dead: {ours.late_worst / theirs.late_worst:.2f} of earlyoom's")
    print(f"levelling off {ABOVE / GIB:.0f} GiB above the floor: {sum(f.killed for f in level)}/{len(level)} killed")
    print(f"at rest: {cpu_pct:.2f} % of one core, {rss_mib:.0f} MiB")
    if options.json:
        records = {who: [asdict(f) for f in done] for who, done in {**falls, "level": level}.items()}
        options.json.write_text(json.dumps(records, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
