"""Sizes and durations: integers of bytes inside, words for people at the edge. 1 GiB is 2**30 bytes."""

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def gib(size: float) -> float:
    """Bytes as GiB."""
    return size / GIB


def from_gib(size_gib: float) -> int:
    """GiB as whole bytes, rounded to the nearest."""
    return round(size_gib * GIB)


def format_bytes(size: float) -> str:
    """Words for a size, in the unit a person would choose: `72.56 GiB`, `66.0 MiB`, `135 B`."""
    sign, size = ("-", -size) if size < 0 else ("", size)
    if size >= GIB:
        return f"{sign}{size / GIB:.2f} GiB"
    if size >= MIB:
        return f"{sign}{size / MIB:.1f} MiB"
    if size >= 10 * KIB:
        return f"{sign}{size / KIB:.1f} KiB"
    return f"{sign}{size:.0f} B"


def format_seconds(seconds: float) -> str:
    """Words for a duration: `0.42 s`, `41 s`, `3 min 05 s`, `2 h 07 min`."""
    if seconds < 10:  # noqa: PLR2004
        return f"{seconds:.2f} s"
    whole = round(seconds)
    if whole < 120:  # noqa: PLR2004
        return f"{whole} s"
    if whole < 7200:  # noqa: PLR2004
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
