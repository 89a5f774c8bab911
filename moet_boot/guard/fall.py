"""How fast memory falls: the slower of a short and a longer look back, so that one step is not yet a fall."""

from dataclasses import dataclass

SHORT_S = 0.04
"""Points closer than this are too noisy for a rate."""
LONG_S = 0.49
"""A KV cache is taken in one step of gigabytes and then all is quiet; a collapse goes on for seconds."""
YOUNGEST_S = 0.2
"""Until the longer look back is filled, it may be this short."""
STALE_S = 5.0
"""An average over a longer gap says nothing about now."""

Point = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Track:
    """The recent past of one figure: (seconds, bytes), oldest first, a dozen points at most."""

    points: tuple[Point, ...] = ()

    def then(self, t_s: float, size: int) -> "Track":
        """The track with one more point; a point that comes too soon after the last one is left out."""
        points = self.points
        if points and t_s - points[-1][0] < SHORT_S:
            return self
        oldest_useful = next((i for i in range(len(points) - 1, -1, -1) if t_s - points[i][0] >= LONG_S), 0)
        return Track((*points[oldest_useful:], (t_s, size)))

    def fall_rate(self, t_s: float, size: int, *, stale_s: float = STALE_S) -> float:
        """Bytes a second lost up to now; 0.0 when it rises, or when too little is known.

        `stale_s`: how long a gap may be for its average to count.
        """
        short = self._rate(SHORT_S, t_s, size, stale_s)
        if short <= 0.0:
            return 0.0
        return max(0.0, min(short, self._rate(LONG_S, t_s, size, stale_s)))

    def _rate(self, age_s: float, t_s: float, size: int, stale_s: float) -> float:
        if not self.points:
            return 0.0
        then, before = next((p for p in reversed(self.points) if t_s - p[0] >= age_s), self.points[0])
        elapsed = t_s - then
        if elapsed > stale_s or elapsed < min(age_s, YOUNGEST_S):
            return 0.0
        return (before - size) / elapsed
