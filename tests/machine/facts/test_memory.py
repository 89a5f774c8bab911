import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from moet_boot.machine.snapshot import MemInfo, Snapshot
from moet_boot.units import GIB, MIB

KB_PER_GIB = GIB // 1024


def meminfo(**fields: int) -> MemInfo:
    return MemInfo.model_validate({"MemTotal": 120 * KB_PER_GIB, "MemFree": 0, **fields})


def test_sizes_in_bytes() -> None:
    info = meminfo(MemFree=KB_PER_GIB, MemAvailable=2 * KB_PER_GIB, Shmem=512, SwapTotal=64, SwapFree=24)
    assert info.total_bytes == 120 * GIB
    assert info.free_bytes == GIB
    assert info.available_bytes == 2 * GIB
    assert info.shmem_bytes == 512 * 1024
    assert info.swap_used_bytes == 40 * 1024


def test_an_old_kernel_has_no_available_figure() -> None:
    assert meminfo().available_bytes is None


def test_the_residual_is_what_no_field_names() -> None:
    info = meminfo(MemFree=10 * KB_PER_GIB, Cached=20 * KB_PER_GIB, AnonPages=5 * KB_PER_GIB, Slab=KB_PER_GIB)
    assert info.residual_bytes == 84 * GIB


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"Buffers": 1024}, id="buffers"),
        pytest.param({"PageTables": 1024}, id="page-tables"),
        pytest.param({"KernelStack": 1024}, id="kernel-stack"),
        pytest.param({"Percpu": 1024}, id="percpu"),
        pytest.param({"Zswap": 1024}, id="compressed-swap"),
        pytest.param({"HugePages_Total": 1, "Hugepagesize": 1024}, id="huge-pages"),
        pytest.param({"Hugetlb": 1024}, id="huge-pages-of-another-size"),
    ],
)
def test_memory_that_a_field_names_is_not_residual(fields: dict[str, int]) -> None:
    assert meminfo().residual_bytes - meminfo(**fields).residual_bytes == MIB


def test_shared_memory_is_not_counted_twice() -> None:
    assert meminfo(Cached=2048, Shmem=1024).residual_bytes == meminfo(Cached=2048).residual_bytes


def test_the_huge_pool_counts_all_page_sizes() -> None:
    info = meminfo(HugePages_Total=512, Hugepagesize=2048, Hugetlb=3 * KB_PER_GIB)
    assert info.huge_pool_bytes == 3 * GIB


@given(total=st.integers(1, 2**40), parts=st.lists(st.integers(0, 2**38), min_size=4, max_size=4))
def test_the_residual_is_between_nothing_and_everything(total: int, parts: list[int]) -> None:
    names = ("Buffers", "Slab", "PageTables", "Percpu")
    info = MemInfo.model_validate({"MemTotal": total, "MemFree": 0, **dict(zip(names, parts, strict=True))})
    assert 0 <= info.residual_bytes <= info.total_bytes


def test_facts_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        meminfo().mem_free = 5  # type: ignore[misc]


def test_keys_of_a_later_version_are_left_alone() -> None:
    snapshot = Snapshot.model_validate({"arch": "x86_64", "meminfo": {"MemTotal": 1, "MemFree": 1, "New": "?"}})
    assert snapshot.meminfo is not None
