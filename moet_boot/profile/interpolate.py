"""Reading a published curve between its points, and saying so."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from moet_boot.profile.model import Curve


@dataclass(frozen=True)
class Reading:
    """A curve at one place: measured there, interpolated between two points, or beyond the last one."""

    value: float
    basis: Literal["measured", "interpolated", "beyond"]
    between: tuple[tuple[float, float], ...]
    """The points it was read from."""

    def words(self, unit: str) -> str:
        """Such as `1122 tok/s (measured)`."""
        points = " and ".join(f"{y:g} at {x:g}" for x, y in self.between)
        how = {
            "measured": "measured",
            "interpolated": f"interpolated between {points}",
            "beyond": f"beyond the table, last measured {points}",
        }
        return f"{self.value:.0f} {unit} ({how[self.basis]})"


def read_curve(curve: Curve, x: float) -> Reading | None:
    """The curve at `x`, linear between its points; None below the first one."""
    first, last = curve.points[0], curve.points[-1]
    if x < first[0]:
        return None
    if x > last[0]:
        return Reading(last[1], "beyond", (last,))
    for point in curve.points:
        if point[0] == x:
            return Reading(point[1], "measured", (point,))
    low, high = next((a, b) for a, b in pairwise(curve.points) if a[0] < x < b[0])
    value = low[1] + (high[1] - low[1]) * (x - low[0]) / (high[0] - low[0])
    return Reading(value, "interpolated", (low, high))
