import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from moet_boot.cli.preflight_view import Bars, verdict_view
from moet_boot.phases import Phase
from moet_boot.preflight import Request, prepare
from moet_boot.preflight.pools import MemoryPool, PoolPeak
from moet_boot.receipts.learned import MeasuredPeak
from tests.checks.cases import FIELD, healthy

GIB = 1 << 30


def drawn(renderable: object, width: int = 100, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width, highlight=False, markup=False, color_system=None)
    console.print(renderable)
    stream.flush()
    stream.seek(0)
    return stream.read()


def view_of(case: str, width: int, profile: str = "spark", *accepted: str) -> str:
    request = Request(profile, snapshot=FIELD / f"{case}.json", accepted=accepted)
    return drawn(verdict_view(prepare(request, env={})), width)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@pytest.mark.parametrize("case", ["spark-swap-thrash-now", "spark-trapped-driver-memory", "spark-tn-desktop-running"])
def test_no_line_is_wider_than_the_terminal(case: str, width: int) -> None:
    shown = view_of(case, width)
    assert max(len(line) for line in shown.splitlines()) <= width
    assert "reading planes" in shown


def test_a_narrow_terminal_loses_no_word_of_a_remedy() -> None:
    narrow = " ".join(view_of("spark-kho-cma-anomaly", 40).split())
    assert "kho=off" in narrow
    assert "command line and reboot" in narrow.replace("  ", " ")


GOLDEN = """\
REFUSE  spark: 1 finding against this boot
judged: a recorded snapshot

x NET.PORT  the port is free
  measured port 8010 is taken by container nemoclaw-vllm
  required port 8010 free
  why      on the host's network the engine finds out only after it has loaded for minutes
  fix      choose another: --set port=8011, or stop nemoclaw-vllm yourself if it may go
"""


def test_what_a_person_reads() -> None:
    """Word for word, up to the numbers of passed checks, which grow."""
    shown = "\n".join(line.rstrip() for line in view_of("spark-port-taken", 100).splitlines())
    top, _, rest = shown.partition(" passed: ")
    assert top.rstrip("0123456789 ").rstrip("\n") + "\n" == GOLDEN
    assert rest


def test_a_risk_that_cannot_be_accepted_is_told_so() -> None:
    shown = view_of("spark-plane-truncated", 100, "spark", "PLANE.SIZE")
    assert "x PLANE.SIZE  the plane file's size [cannot be accepted]" in shown


def test_what_a_recorded_machine_does_not_say_is_not_called_safe_without_a_word(tmp_path: Path) -> None:
    """A checkpoint that nobody looked at is skipped (design 1.2); the reader must not take it for a pass."""
    snapshot = healthy("spark")
    for group in ("checkpoint", "files", "pressure"):
        del snapshot[group]
    file = tmp_path / "box.json"
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    shown = drawn(verdict_view(prepare(Request("spark", snapshot=file), env={}))).splitlines()
    assert shown[0] == "SAFE  spark: nothing that was recorded speaks against this boot"
    assert shown[2] == "not recorded, so not judged: pressure, checkpoint, files"


def test_where_everything_was_recorded_nothing_is_said_of_it() -> None:
    shown = view_of("spark-tn-nvml-not-supported", 100)
    assert "SAFE  spark: nothing speaks against this boot" in shown
    assert "not recorded" not in shown


def test_a_card_and_its_host_are_two_pools() -> None:
    shown = view_of("rtx-tn-cached-boot-62gib-host", 100, "rtx6000-a")
    assert shown.startswith("SAFE  rtx6000-a: nothing speaks against this boot")
    assert "GPU memory: 95.59 GiB available" in shown
    assert "host memory: 54.00 GiB available" in shown


def pool(available: int | None, *peaks: tuple[int, str]) -> MemoryPool:
    rows = tuple(PoolPeak(phase, size, source) for phase, (size, source) in zip(Phase, peaks, strict=False))
    return MemoryPool("memory", available, 8 * GIB, rows)


def test_a_measured_peak_is_marked() -> None:
    shown = drawn(Bars(pool(10 * GIB, (4 * GIB, "model"), (5 * GIB, "measured"))))
    first, second = shown.splitlines()[1:3]
    assert "*" not in first
    assert second.rstrip().endswith("5.00 GiB*")
    assert "* measured on this machine" in shown


def test_memory_that_nobody_could_read_has_no_end() -> None:
    shown = drawn(Bars(pool(None, (4 * GIB, "model"))))
    assert "unknown available" in shown
    assert "|" not in shown


def test_a_terminal_without_utf8_gets_plain_letters() -> None:
    shown = drawn(Bars(pool(10 * GIB, (4 * GIB, "model"))), encoding="ascii")
    assert "####" in shown


def test_an_empty_pool_draws_nothing_and_does_not_divide_by_zero() -> None:
    empty = MemoryPool("memory", 0, 0, (PoolPeak(Phase.STARTING, 0, "model"),))
    assert "0 B" in drawn(Bars(empty))


def test_what_was_learned_here_shows_in_the_whole_view() -> None:
    from tests.checks.cases import case_of

    peaks = {Phase.SERVING: MeasuredPeak(Phase.SERVING, 100 * GIB, 0, "r")}
    from moet_boot.preflight.pools import memory_pools

    assert "100.00 GiB*" in drawn(Bars(memory_pools(case_of("spark", peaks=peaks))[0]))
