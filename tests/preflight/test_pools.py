import pytest

from moet_boot.phases import Phase
from moet_boot.preflight.pools import memory_pools
from moet_boot.units import gib
from tests.checks.cases import GONE, case_of


def test_unified_memory_is_one_pool() -> None:
    (pool,) = memory_pools(case_of("spark"))
    assert pool.name == "unified memory"
    assert gib(pool.available_bytes or 0) == pytest.approx(113.07, abs=0.01)
    assert [peak.phase for peak in pool.peaks] == list(Phase)
    assert pool.peaks[2].bytes == max(peak.bytes for peak in pool.peaks)


def test_a_card_of_its_own_comes_before_the_host() -> None:
    card, host = memory_pools(case_of("rtx6000-a"))
    assert (card.name, host.name) == ("GPU memory", "host memory")
    assert card.available_bytes == 102_641_958_912 - 4_194_304
    assert gib(host.available_bytes or 0) == 54
    assert card.required_bytes > host.required_bytes


def test_the_demo_has_host_memory_only() -> None:
    assert [pool.name for pool in memory_pools(case_of("demo"))] == ["host memory"]


def test_what_was_not_read_is_none() -> None:
    assert memory_pools(case_of("spark", {"meminfo": None}))[0].available_bytes is None
    unread = {"nvml.gpus.0.memory.used": GONE}
    assert memory_pools(case_of("rtx6000-a", unread))[0].available_bytes is None
    assert memory_pools(case_of("rtx6000-a", {"nvml": None}))[0].available_bytes is None
