"""The memory curve of a boot: thinned without losing its lows, and drawn as SVG."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from moet_boot.receipts.model import Attempt, CurvePoint, PhaseRecord
from moet_boot.units import GIB, gib

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 28, 44
_BANDS = ("#eef3f8", "#f9fbfd")


def thin(points: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """At most about `most` points: in each stretch of time the lowest MemAvailable stays, ends stay too."""
    if len(points) <= most or most < 3:  # noqa: PLR2004  (first, last and one between)
        return list(points)
    inner = points[1:-1]
    size = max(-(-len(inner) // (most - 2)), 1)
    lows = [min(inner[i : i + size], key=lambda p: p.available_bytes) for i in range(0, len(inner), size)]
    return [points[0], *lows, points[-1]]


def extended(known: Sequence[CurvePoint], points: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    """A curve with what came after its end, that part thinned to `most` points."""
    since = known[-1].t_s if known else float("-inf")
    return [*known, *thin([p for p in points if p.t_s > since], most)]


def boot_part(attempt: Attempt) -> Attempt:
    """The attempt until a little after its readiness: beside days of serving the boot is a thin line."""
    if attempt.ready_after_s is None:
        return attempt
    end = attempt.ready_after_s * 1.1
    phases = [
        phase.model_copy(update={"ended_s": end if phase.ended_s is None else min(phase.ended_s, end)})
        for phase in attempt.phases
    ]
    return attempt.model_copy(update={"curve": [p for p in attempt.curve if p.t_s <= end], "phases": phases})


def sparkline(values: Sequence[float], width: int) -> str:
    """The last `width` values as a line of blocks, scaled from zero to the highest."""
    blocks = "▁▂▃▄▅▆▇█"
    shown = list(values)[-width:]
    top = max(shown, default=0) or 1
    return "".join(blocks[min(int(v / top * (len(blocks) - 1) + 0.5), len(blocks) - 1)] for v in shown)


def draw_svg(
    title: str, points: Sequence[CurvePoint], phases: Sequence[PhaseRecord], floors: Mapping[str, float]
) -> str:
    """The curve as an SVG document: MemAvailable and MemFree over time, phases as bands, floors as lines.

    `floors` maps a name to GiB.
    """
    end = max([p.t_s for p in points] + [ph.ended_s or 0 for ph in phases] + [1.0])
    top = max([p.available_bytes for p in points] + [f * GIB for f in floors.values()] + [GIB]) * 1.08
    svg = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=str(WIDTH),
        height=str(HEIGHT),
        attrib={"font-family": "system-ui, sans-serif", "font-size": "11"},
    )
    ET.SubElement(svg, "title").text = title
    _rect(svg, 0, 0, WIDTH, HEIGHT, "#ffffff")
    _text(svg, LEFT, 18, title, size=13)
    plot = _Plot(svg, end, top)
    for number, phase in enumerate(phases):
        plot.band(phase, _BANDS[number % 2], last=end)
    plot.grid()
    plot.line([(p.t_s, p.free_bytes) for p in points], "#9bb7d4", "MemFree")
    plot.line([(p.t_s, p.available_bytes) for p in points], "#1f5fa8", "MemAvailable")
    if any(p.swap_used_bytes for p in points):
        plot.line([(p.t_s, p.swap_used_bytes) for p in points], "#b07a2a", "swap used")
    for name, height_gib in floors.items():
        plot.floor(name, height_gib)
    return ET.tostring(svg, encoding="unicode", xml_declaration=True)


class _Plot:
    def __init__(self, svg: ET.Element, end_s: float, top_bytes: float) -> None:
        self.svg, self.end_s, self.top_bytes = svg, end_s, top_bytes
        self.right, self.bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
        self._labels = 0

    def x(self, t_s: float) -> float:
        return LEFT + (self.right - LEFT) * min(max(t_s / self.end_s, 0), 1)

    def y(self, size: float) -> float:
        return self.bottom - (self.bottom - TOP) * min(max(size / self.top_bytes, 0), 1)

    def band(self, phase: PhaseRecord, colour: str, last: float) -> None:
        x0, x1 = self.x(phase.started_s), self.x(phase.ended_s if phase.ended_s is not None else last)
        _rect(self.svg, x0, TOP, max(x1 - x0, 0), self.bottom - TOP, colour)
        label = _text(self.svg, x0 + 4, TOP + 12, phase.phase.words, colour="#5b6b7b")
        if x1 - x0 < 70:  # noqa: PLR2004  (a narrow band gets its name upright)
            label.set("transform", f"rotate(90 {x0 + 4:.1f} {TOP + 6:.1f})")

    def grid(self) -> None:
        for fraction in (0, 0.25, 0.5, 0.75, 1):
            size = self.top_bytes * fraction
            _line(self.svg, LEFT, self.y(size), self.right, self.y(size), "#dde3ea")
            _text(self.svg, LEFT - 6, self.y(size) + 4, f"{gib(size):.1f}", anchor="end")
            t_s = self.end_s * fraction
            _text(self.svg, self.x(t_s), self.bottom + 16, f"{t_s:.0f} s", anchor="middle")
        _text(self.svg, LEFT - 6, TOP - 8, "GiB", anchor="end")

    def line(self, pairs: Sequence[tuple[float, float]], colour: str, name: str) -> None:
        if not pairs:
            return
        path = " ".join(f"{self.x(t):.1f},{self.y(v):.1f}" for t, v in pairs)
        ET.SubElement(self.svg, "polyline", points=path, fill="none", stroke=colour, attrib={"stroke-width": "1.6"})
        _text(self.svg, self.right + 8, TOP + 12 + 16 * self._labels, name, colour=colour)
        self._labels += 1

    def floor(self, name: str, height_gib: float) -> None:
        y = self.y(height_gib * GIB)
        line = _line(self.svg, LEFT, y, self.right, y, "#c0392b")
        line.set("stroke-dasharray", "5 4")
        _text(self.svg, self.right + 8, y + 4, f"{name} {height_gib:g} GiB", colour="#c0392b")


def _rect(  # noqa: PLR0917  (SVG's own order)
    svg: ET.Element, x: float, y: float, width: float, height: float, fill: str
) -> None:
    ET.SubElement(svg, "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", fill=fill)


def _line(  # noqa: PLR0917  (SVG's own order)
    svg: ET.Element, x1: float, y1: float, x2: float, y2: float, colour: str
) -> ET.Element:
    return ET.SubElement(svg, "line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", stroke=colour)


def _text(
    svg: ET.Element,
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    colour: str = "#2b3640",
    size: int = 11,
) -> ET.Element:
    element = ET.SubElement(
        svg,
        "text",
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        fill=colour,
        attrib={"text-anchor": anchor, "font-size": str(size)},
    )
    element.text = words
    return element
