from dataclasses import replace

import pytest

from moet_boot.profile.fit import GpuFacts, MachineFacts, fit
from tests.profile.shipped import shipped

GIB = 1 << 30
CARD = GpuFacts("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0", 102_641_958_912)
GB10 = GpuFacts("NVIDIA GB10", "12.1", None)
WORKSTATION = MachineFacts("x86_64", 64 * GIB, (CARD,))
SPARK = MachineFacts("aarch64", 120 * GIB, (GB10,))
LAPTOP = MachineFacts("x86_64", 16 * GIB, (), gpu_error="NVML: LIBRARY_NOT_FOUND")


@pytest.mark.parametrize(
    ("machine", "fitting"),
    [
        (WORKSTATION, {"rtx6000-a", "rtx6000-b", "demo"}),
        (SPARK, {"spark", "demo"}),
        (LAPTOP, {"demo"}),
        (MachineFacts("riscv64", 64 * GIB, ()), set()),
    ],
    ids=["workstation", "spark", "laptop", "riscv"],
)
def test_what_fits_where(machine: MachineFacts, fitting: set[str]) -> None:
    names = ("spark", "rtx6000-a", "rtx6000-b", "demo")
    assert {name for name in names if fit(shipped(name), machine).fits} == fitting


@pytest.mark.parametrize(
    ("profile", "machine", "reason"),
    [
        ("spark", LAPTOP, "needs aarch64, this is x86_64"),
        ("spark", LAPTOP, "no GPU was found (NVML: LIBRARY_NOT_FOUND)"),
        ("spark", replace(SPARK, memory_bytes=64 * GIB), "needs 117.00 GiB of memory, this has 64.00 GiB"),
        ("demo", MachineFacts("riscv64", None, ()), "needs x86_64 or aarch64, this is riscv64"),
        ("rtx6000-a", replace(WORKSTATION, wsl=True), "does not run under WSL"),
        ("rtx6000-a", SPARK, "needs RTX PRO 6000 (compute capability 12.0), this has NVIDIA GB10"),
        ("rtx6000-a", replace(WORKSTATION, gpus=(replace(CARD, memory_bytes=48 * GIB),)), "needs 1 GPU of 95.00 GiB"),
        ("rtx6000-a", replace(WORKSTATION, gpus=(replace(CARD, compute_capability="8.9"),)), "compute capability 12.0"),
    ],
)
def test_what_speaks_against_it_is_said(profile: str, machine: MachineFacts, reason: str) -> None:
    found = fit(shipped(profile), machine)
    assert not found.fits
    assert any(reason in against for against in found.against)


def test_one_card_of_several_is_enough() -> None:
    other = GpuFacts("NVIDIA GeForce RTX 4090", "8.9", 24 * GIB)
    assert fit(shipped("rtx6000-a"), replace(WORKSTATION, gpus=(other, CARD))).fits


@pytest.mark.parametrize("memory", [None, 1], ids=["not supported", "a figure that means nothing"])
def test_on_unified_memory_nvmls_figure_is_not_asked(memory: int | None) -> None:
    assert fit(shipped("spark"), replace(SPARK, gpus=(replace(GB10, memory_bytes=memory),))).fits


def test_what_could_not_be_read_speaks_against_nothing() -> None:
    assert fit(shipped("demo"), MachineFacts(None, None, ())).fits
    assert fit(shipped("spark"), replace(SPARK, arch=None, memory_bytes=None)).fits
