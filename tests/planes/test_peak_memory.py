import subprocess
import sys

IMPORT = "from moet_boot.planes.peak_memory import peak_rss_bytes as peak;"


def numbers(script: str) -> list[int]:
    run = subprocess.run([sys.executable, "-c", IMPORT + script], check=True, capture_output=True, text=True)
    return [int(word) for word in run.stdout.split()]


def test_memory_that_was_given_back_still_counts() -> None:
    before, after = numbers("a = peak(); b = b'x' * (64 << 20); del b; print(a, peak())")
    assert before > 1 << 20
    assert 60 << 20 < after - before < 100 << 20


def test_the_parent_does_not_count() -> None:
    held = b"x" * (200 << 20)
    (child,) = numbers("print(peak())")
    assert 1 << 20 < child < len(held)
