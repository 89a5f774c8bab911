"""How people read a verdict: the word first, then what stops the boot, then what to know, then the memory."""

from collections import Counter
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from moet_boot.checks.finding import Finding, Sight
from moet_boot.preflight import Level, Prepared
from moet_boot.preflight.pools import MemoryPool, memory_pools
from moet_boot.units import format_bytes

STYLES = {Level.SAFE: "bold green", Level.WARN: "bold yellow", Level.REFUSE: "bold red"}
SIGHTS = {
    Sight.LIVE: "this machine",
    Sight.REPLAYED: "a recorded snapshot",
    Sight.REHEARSED: "dry run: profile, rules and plan, without artefacts",
}
NAME_WIDTH = 16
FIGURE_WIDTH = 11
LEAST_BAR = 6


def verdict_view(prepared: Prepared) -> Group:
    """The whole answer for a person."""
    return Group(*_parts(prepared))


def _parts(prepared: Prepared) -> Iterator[RenderableType]:
    verdict, profile = prepared.verdict, prepared.profile
    name = profile.name + (f" ({profile.variant})" if profile.variant else "")
    headline = Text(verdict.level.value.upper(), style=STYLES[verdict.level])
    headline.append(f"  {name}: {_summary(prepared)}", style="default")
    yield headline
    yield Text(f"judged: {SIGHTS[prepared.case.sight]}", style="dim")
    holes = _holes(prepared)
    if holes:
        yield Text(f"not recorded, so not judged: {', '.join(holes)}", style="yellow")
    for finding in verdict.refusals:
        yield from _finding(finding, "x", "red", " [cannot be accepted]" if finding.id in verdict.accepted else "")
    for finding in verdict.taken_risks:
        yield from _finding(finding, "x", "yellow", " [accepted]")
    for finding in verdict.warnings:
        yield from _finding(finding, "!", "yellow")
    yield Text()
    if verdict.passes:
        yield _tally("passed", verdict.passes, "green")
    if verdict.skipped:
        yield _tally("not judged", verdict.skipped, "dim")
    for pool in memory_pools(prepared.case):
        yield Text()
        yield Bars(pool)
    if prepared.lesson:
        yield Text(prepared.lesson, style="dim")


def _summary(prepared: Prepared) -> str:
    verdict = prepared.verdict
    match verdict.level:
        case Level.SAFE:
            known = "nothing that was recorded" if _holes(prepared) else "nothing"
            return f"{known} speaks against this boot"
        case Level.WARN:
            count = len(verdict.warnings) + len(verdict.taken_risks)
            return f"can start, {_counted(count, 'thing')} to know"
        case Level.REFUSE:
            return f"{_counted(len(verdict.refusals), 'finding')} against this boot"


def _holes(prepared: Prepared) -> list[str]:
    """What a recorded machine does not say and a check asked for, each once."""
    return list(dict.fromkeys(finding.hole for finding in prepared.verdict.findings if finding.hole))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _tally(word: str, findings: list[Finding], style: str) -> Text:
    """One line, whatever the number: how many of each family."""
    families = Counter(finding.id.partition(".")[0] for finding in findings)
    counts = ", ".join(f"{count} {family}" for family, count in families.items())
    return Text(f"{len(findings)} {word}: {counts}", style=style, no_wrap=True, overflow="ellipsis")


def _finding(finding: Finding, mark: str, style: str, note: str = "") -> Iterator[RenderableType]:
    yield Text()
    title = Text(f"{mark} {finding.id}", style=f"bold {style}")
    title.append(f"  {finding.title}{note}", style="default")
    yield title
    rows = Table.grid(padding=(0, 1))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for label in ("measured", "required", "why", "fix", "source"):
        if text := getattr(finding, label):
            rows.add_row(label, Text(text, style="bold" if label == "fix" else "dim" if label == "source" else ""))
    yield Padding(rows, (0, 0, 0, 2))


class Bars:
    """A pool's memory by phase, drawn against what is available; as wide as the terminal allows."""

    def __init__(self, pool: MemoryPool) -> None:
        self.pool = pool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines for `console`: a heading, one bar a phase, `|` where the available memory ends."""
        pool = self.pool
        seen = "unknown" if pool.available_bytes is None else format_bytes(pool.available_bytes)
        yield Text(f"{pool.name}: {seen} available, {format_bytes(pool.required_bytes)} required", style="bold")
        width = max(options.max_width - NAME_WIDTH - FIGURE_WIDTH - 2, LEAST_BAR)
        scale = max([pool.available_bytes or 0, pool.required_bytes, *(peak.bytes for peak in pool.peaks), 1])
        block = "#" if options.ascii_only else "█"
        for peak in pool.peaks:
            line = Text(f"{peak.phase.words:<{NAME_WIDTH}}", no_wrap=True)
            over = pool.available_bytes is not None and peak.bytes > pool.available_bytes
            filled = round(width * peak.bytes / scale)
            bar = block * filled + " " * (width - filled)
            line.append(_with_end(bar, pool, scale), style="red" if over else "cyan")
            line.append(f"{format_bytes(peak.bytes):>{FIGURE_WIDTH}}")
            line.append("*" if peak.source == "measured" else " ", style="dim")
            yield line
        if any(peak.source == "measured" for peak in pool.peaks):
            yield Text("* measured on this machine", style="dim")


def _with_end(bar: str, pool: MemoryPool, scale: int) -> str:
    if pool.available_bytes is None:
        return bar
    end = min(round(len(bar) * pool.available_bytes / scale), len(bar) - 1)
    return f"{bar[:end]}|{bar[end + 1 :]}"
