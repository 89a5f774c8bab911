"""The phases of a boot, in their order: one set of names for forecast, guard, supervisor and receipts."""

from enum import StrEnum


class Phase(StrEnum):
    """A phase of a boot, from the start of the process to serving."""

    STARTING = "starting"
    LOADING_WEIGHTS = "loading_weights"
    PLANES = "planes"
    PROFILING = "profiling"
    KV_CACHE = "kv_cache"
    GRAPH_CAPTURE = "graph_capture"
    WARM_UP = "warm_up"
    SERVING = "serving"

    @property
    def order(self) -> int:
        """0 for the first phase."""
        return _ORDER[self]

    @property
    def words(self) -> str:
        """The name as people read it."""
        return _WORDS[self]

    def until(self, last: "Phase") -> list["Phase"]:
        """All phases from this one to `last`, both included."""
        return list(Phase)[self.order : last.order + 1]


_ORDER = {phase: place for place, phase in enumerate(Phase)}
_WORDS = {
    Phase.STARTING: "starting",
    Phase.LOADING_WEIGHTS: "loading weights",
    Phase.PLANES: "reading planes",
    Phase.PROFILING: "profiling",
    Phase.KV_CACHE: "KV cache",
    Phase.GRAPH_CAPTURE: "graph capture",
    Phase.WARM_UP: "warm-up",
    Phase.SERVING: "serving",
}
