import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.checks.killers import Killer, killer_of
from moet_boot.machine.snapshot import MemInfo, ProcessFacts

NO_SWAP = MemInfo(mem_total=1000, mem_free=900)
UNUSED_SWAP = MemInfo(mem_total=1000, mem_free=900, swap_total=100, swap_free=100)
FULL_SWAP = MemInfo(mem_total=1000, mem_free=900, swap_total=100, swap_free=5)


@pytest.mark.parametrize(
    ("name", "args", "meminfo", "found"),
    [
        pytest.param("earlyoom", "-m 10 -s 100", NO_SWAP, Killer("earlyoom", 102_400), id="ten-percent"),
        pytest.param("earlyoom", None, NO_SWAP, Killer("earlyoom", 102_400), id="defaults-without-swap"),
        pytest.param("earlyoom", "", UNUSED_SWAP, Killer("earlyoom", 102_400, after_swap=True), id="waits-for-swap"),
        pytest.param("earlyoom", "", FULL_SWAP, Killer("earlyoom", 102_400), id="defaults-with-full-swap"),
        pytest.param("earlyoom", "-m 4 -s 100", UNUSED_SWAP, Killer("earlyoom", 40_960), id="whatever-the-swap"),
        pytest.param("earlyoom", "-m 5,2 -r 0", NO_SWAP, Killer("earlyoom", 51_200), id="term-and-kill-percent"),
        pytest.param("earlyoom", "-M 300 -r 3600", NO_SWAP, Killer("earlyoom", 307_200), id="kib"),
        pytest.param(
            "earlyoom", "-M 300 -S 50", UNUSED_SWAP, Killer("earlyoom", 307_200, after_swap=True), id="kib-of-swap"
        ),
        pytest.param("earlyoom", "-M 300 -S 50", FULL_SWAP, Killer("earlyoom", 307_200), id="kib-of-swap-reached"),
        pytest.param("earlyoom", "-m20", NO_SWAP, Killer("earlyoom", 204_800), id="no-blank"),
        pytest.param("/usr/bin/earlyoom", "-m 10", NO_SWAP, Killer("earlyoom", 102_400), id="with-its-path"),
        pytest.param("systemd-oomd", None, NO_SWAP, Killer("systemd-oomd", None), id="limits-in-a-file"),
        pytest.param("dgx-anti-oom", None, NO_SWAP, Killer("dgx-anti-oom", None), id="dgx"),
        pytest.param("sshd", "-m 10", NO_SWAP, None, id="no-killer"),
    ],
)
def test_when_it_acts(name: str, args: str | None, meminfo: MemInfo, found: Killer | None) -> None:
    assert killer_of(ProcessFacts(name=name, args=args), meminfo) == found


@given(st.text(max_size=40))
def test_no_arguments_crash_it(args: str) -> None:
    found = killer_of(ProcessFacts(name="earlyoom", args=args), NO_SWAP)
    assert found is not None
    assert found.acts_below_bytes is not None
    assert found.acts_below_bytes >= 0
