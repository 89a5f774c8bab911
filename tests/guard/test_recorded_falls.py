"""The falls, plateaus and stalls of which the field notes give figures (section 5, 7, 8), as traces of their own.

Each is replayed as recorded and at the rates of a guard, with its labels and without.
"""

from dataclasses import dataclass

import pytest

from moet_boot.guard.replay import Replay, replay, resampled, without_labels
from moet_boot.guard.sample import Action
from moet_boot.guard.trace import TracePoint
from tests.guard.scenes import SPARK, look


@dataclass(frozen=True)
class Case:
    """Samples as (second, GiB available), what else was seen, and what must come of it."""

    label: str
    course: tuple[tuple[float, float], ...]
    action: Action
    window: tuple[float, float] = (0.0, 0.0)
    swap: tuple[float, ...] = ()
    psi: tuple[float, ...] = ()
    free: float | None = None

    def points(self) -> list[TracePoint]:
        made = []
        for i, (t_s, level) in enumerate(self.course):
            swap = self.swap[i] if self.swap else 0.0
            psi = self.psi[i] if self.psi else 0.0
            made.append(TracePoint(look(t_s, level, swap=swap, psi=psi, free=self.free), self.label))
        return made


CASES = {
    "29 -> 2.5 in 9 s, another engine": Case("kv_cache", ((0, 29), (9, 2.5)), Action.KILL, (5.5, 9)),
    "34.0 -> 12.7 in 1.5 s and on": Case("load", ((0, 34), (1, 34), (2.5, 12.7), (3.2, 2.8)), Action.KILL, (1.5, 2.9)),
    "17-19 GiB in 10 s, stopped at 6.8": Case(
        "graph_capture", ((0, 25), (10, 25), (13, 19.5), (16, 14), (19, 8.6), (20, 6.8)), Action.KILL, (16, 20)
    ),
    "the same with expandable segments, healthy": Case(
        "graph_capture", ((0, 25), (10, 25), (16, 14.5), (17, 13.7), (40, 14.1)), Action.NOTHING
    ),
    "a boot at 6018 MiB that a floor of 4 let through": Case(
        "profile", ((0, 40), (30, 12), (60, 5.88), (80, 5.9)), Action.KILL, (30, 61)
    ),
    "80 GiB of weights from a fast disk": Case("load", ((0, 112), (15, 30), (60, 24)), Action.NOTHING, free=20.0),
    "serving between 8 and 4.5": Case(
        "serving", ((0, 7.9), (60, 5.1), (90, 7.3), (200, 4.5), (260, 6.4)), Action.NOTHING, free=0.9
    ),
    "a server that leaks": Case("serving", ((0, 7), (300, 4.0), (310, 3.9), (400, 3.0)), Action.KILL, (300, 400)),
    "swap full of somebody else's pages": Case(
        "load", ((0, 60), (60, 40), (120, 24)), Action.NOTHING, swap=(12.0, 12.0, 12.1), free=20.0
    ),
    "unused swap": Case("load", ((0, 60), (60, 40), (120, 24)), Action.NOTHING, swap=(0.0, 0.0, 0.0), free=20.0),
    "a conversion that swaps and moves on": Case(
        "load",
        ((0, 60), (30, 45), (60, 30), (90, 20), (120, 34)),
        Action.NOTHING,
        swap=(0.0, 6.0, 20.0, 40.0, 12.0),
        psi=(2.0, 8.0, 12.0, 9.0, 3.0),
        free=20.0,
    ),
    "paged out by its own load": Case(
        "load 48/120",
        ((0, 22), (10, 14), (20, 12), (90, 11.9)),
        Action.KILL,
        (20, 90),
        swap=(0.6, 2.8, 4.1, 4.5),
        psi=(12.0, 38.0, 55.0, 64.0),
    ),
    "stalled without swap": Case("load", ((0, 20), (10, 12), (60, 11.9)), Action.KILL, (10, 60), psi=(5.0, 45.0, 70.0)),
    "a burst of pressure": Case(
        "load",
        ((0, 60), (10, 50), (14, 48), (20, 46), (60, 30)),
        Action.NOTHING,
        psi=(0.0, 5.0, 48.0, 10.0, 0.0),
        free=20.0,
    ),
}


def outcome(case: Case, hz: float | None, *, labels: bool) -> Replay:
    points = case.points() if labels else without_labels(case.points())
    return replay(points if hz is None else resampled(points, hz), SPARK)


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "no-labels"])
@pytest.mark.parametrize("hz", [None, 4, 10, 20], ids=lambda hz: f"{hz}Hz" if hz else "as-recorded")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_action_and_window(case: Case, hz: float | None, labels: bool) -> None:
    result = outcome(case, hz, labels=labels)
    assert result.action is case.action, result.reason
    if result.at_s is not None:
        assert case.window[0] <= result.at_s <= case.window[1], result.reason
