"""Reading /proc/meminfo and PSI: recorded files, mutilated files, and this machine's own."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.guard.sampler import (
    FASTEST_S,
    LOOKS_ON_THE_WAY,
    REST_S,
    WORST_FALL,
    Sampler,
    next_look_s,
    parse_meminfo,
    parse_pressure,
)
from moet_boot.units import GIB, KIB, MIB
from tests.guard.unruly import within

SPARK = {
    "MemTotal": 127601213,
    "MemFree": 9553075,
    "MemAvailable": 118593946,
    "Buffers": 104857,
    "Cached": 3145728,
    "SwapCached": 77,
    "Active": 2097152,
    "SwapTotal": 16777212,
    "SwapFree": 16000000,
    "AnonPages": 1572864,
    "Mapped": 524288,
    "Shmem": 16384,
    "Slab": 1048576,
    "SUnreclaim": 419430,
    "PageTables": 31457,
    "CommitLimit": 99,
    "HugePages_Total": 512,
    "Hugepagesize": 2048,
}


def meminfo(values: dict[str, int]) -> bytes:
    """The text as the kernel prints it: eight columns, more when the figure needs them."""
    lines = []
    for name, value in values.items():
        unit = "" if name.startswith("HugePages_") else " kB"
        lines.append(f"{name + ':':<15} {value:>8}{unit}\n")
    return "".join(lines).encode()


def proc(tmp_path: Path, text: bytes, psi: bytes | None = None) -> Path:
    (tmp_path / "meminfo").write_bytes(text)
    if psi is not None:
        (tmp_path / "pressure").mkdir()
        (tmp_path / "pressure" / "memory").write_bytes(psi)
    return tmp_path


PSI = b"some avg10=1.00 avg60=0.50 avg300=0.10 total=123\nfull avg10=12.34 avg60=0.00 avg300=0.00 total=99\n"


def test_a_spark(tmp_path: Path) -> None:
    sample = Sampler(lambda: 7.5, proc(tmp_path, meminfo(SPARK), PSI)).read()
    assert sample.t_s == 7.5
    assert sample.available == 118593946 * KIB
    assert sample.free == 9553075 * KIB
    assert sample.swap_used == 777212 * KIB
    assert sample.psi_full_avg10 == 12.34
    named = sum(SPARK[n] for n in ("MemFree", "Buffers", "Cached", "AnonPages", "Slab", "PageTables")) * KIB
    assert sample.residual == SPARK["MemTotal"] * KIB - named - 512 * 2 * MIB


def test_files_stay_open_and_are_read_again(tmp_path: Path) -> None:
    sampler = Sampler(time.monotonic, proc(tmp_path, meminfo(SPARK)))
    with (tmp_path / "meminfo").open("r+b") as file:
        file.write(meminfo({**SPARK, "MemAvailable": 5}))
    assert sampler.read().available == 5 * KIB
    sampler.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        sampler.read()


def test_a_figure_that_shrinks_leaves_no_digit_behind(tmp_path: Path) -> None:
    sampler = Sampler(time.monotonic, proc(tmp_path, meminfo(SPARK), PSI))
    sampler.read()
    (tmp_path / "meminfo").write_bytes(meminfo({"MemTotal": 1, "MemFree": 2, "MemAvailable": 3}))
    sample = sampler.read()
    assert (sample.free, sample.available, sample.swap_used) == (2 * KIB, 3 * KIB, None)


@pytest.mark.parametrize("missing", ["MemAvailable", "MemFree", "SwapFree", "AnonPages", "HugePages_Total"])
def test_a_missing_field_is_unknown_and_no_other_suffers(tmp_path: Path, missing: str) -> None:
    left = {name: value for name, value in SPARK.items() if name != missing}
    sample = Sampler(time.monotonic, proc(tmp_path, meminfo(left))).read()
    assert (sample.available is None) == (missing == "MemAvailable")
    assert (sample.free is None) == (missing == "MemFree")
    assert (sample.swap_used is None) == (missing == "SwapFree")
    assert sample.psi_full_avg10 is None


def test_no_meminfo_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Sampler(time.monotonic, tmp_path)


def test_a_pressure_file_that_cannot_be_read_is_no_pressure(tmp_path: Path) -> None:
    (tmp_path / "pressure" / "memory").mkdir(parents=True)  # opens, and reading it fails, as with psi=0
    assert Sampler(time.monotonic, proc(tmp_path, meminfo(SPARK))).read().psi_full_avg10 is None


def test_this_machine() -> None:
    sample = Sampler(time.monotonic).read()
    assert sample.available is not None
    assert sample.free is not None
    assert sample.residual is not None
    assert 64 * MIB < sample.available < 1 << 46
    assert abs(sample.residual) < 1 << 46


@given(st.dictionaries(st.sampled_from(list(SPARK)), st.integers(0, 10**12)))
def test_any_choice_of_fields_in_the_kernels_order(values: dict[str, int]) -> None:
    text = meminfo({name: values[name] for name in SPARK if name in values})
    buffer = bytearray(text + b"MemFree: 1 kB\n" * 3)
    found = parse_meminfo(buffer, len(text))
    wanted = ["MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapTotal", "SwapFree"]
    # the first line has no line break before it: a file always begins with MemTotal
    for name, size in zip(wanted, found, strict=False):
        if name == "MemTotal" or next(iter(n for n in SPARK if n in values), "") != name:
            assert size == (values[name] * KIB if name in values else None)


@given(st.binary(max_size=300))
def test_garbage_is_unknown_and_never_an_error(text: bytes) -> None:
    buffer = bytearray(text)
    assert all(size is None or size >= 0 for size in parse_meminfo(buffer, len(buffer)))
    pressure = parse_pressure(buffer, len(buffer))
    assert pressure is None or pressure >= 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (PSI, 12.34),
        (b"full avg10=0.00 avg60=0.00", 0.0),
        (b"full avg10=100.00 avg60=0.00", 100.0),
        (b"some avg10=5.00 avg60=0.00 avg300=0.00 total=0\n", None),
        (b"full avg10=", None),
        (b"full avg10=x avg60=0.00", None),
        (b"", None),
    ],
)
def test_pressure_lines(text: bytes, value: float | None) -> None:
    assert parse_pressure(bytearray(text), len(text)) == value


class TestRateOfLooking:
    def test_at_rest(self) -> None:
        assert next_look_s(None) == REST_S
        assert next_look_s(100 * GIB) == REST_S

    def test_near_the_floor_some_hundred_times_a_second(self) -> None:
        assert next_look_s(0) == next_look_s(-5 * GIB) == FASTEST_S
        assert 100 <= 1 / FASTEST_S <= 1000

    @given(st.integers(0, 200 * GIB))
    def test_the_worst_fall_is_seen_several_times_on_its_way(self, headroom: int) -> None:
        wait = next_look_s(headroom)
        assert FASTEST_S <= wait <= REST_S
        assert wait == FASTEST_S or wait * WORST_FALL * LOOKS_ON_THE_WAY <= headroom + 1


def test_a_look_is_cheap() -> None:
    sampler = Sampler(time.monotonic)

    def seconds_of_processor() -> float:
        before = time.process_time()
        for _ in range(200):
            sampler.read()
        return (time.process_time() - before) / 200

    assert within(0.001, seconds_of_processor)
