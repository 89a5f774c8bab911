"""Carry out a plan: compare what is here, download the rest several files at a time, put each in its place."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from moet_boot.errors import ArtefactDamagedError, MoetBootError
from moet_boot.fetch.crew import results_of
from moet_boot.fetch.download import Download
from moet_boot.fetch.hub import Hub
from moet_boot.fetch.meter import Meter
from moet_boot.fetch.place import Place
from moet_boot.fetch.plan import RESERVE_BYTES, FetchPlan, PlannedArtefact, PlannedFile
from moet_boot.fetch.trouble import AGAIN
from moet_boot.planes.direct_write import writing
from moet_boot.planes.progress import Progress, no_progress
from moet_boot.units import format_bytes

AT_ONCE = 4
"""Files at a time: enough to fill a line, few enough that an interruption leaves few unfinished."""


@dataclass(frozen=True)
class Brought:
    """A file that is right now. `fetched`: it had to come; `replaced`: in the place of one that was not right.

    `older`: where a small file went that was here and was different.
    """

    place: Place
    fetched: bool
    replaced: bool = False
    older: Path | None = None


@dataclass(frozen=True)
class Carrier:
    """Brings the files of a plan. `sleep` waits seconds between tries, or until a stop."""

    hub: Hub
    on_fetch: Progress = no_progress
    on_compare: Progress = no_progress
    stop: threading.Event = field(default_factory=threading.Event)
    sleep: Callable[[float], object] | None = None

    def bring(self, plan: FetchPlan) -> dict[str, list[Brought]]:
        """Every file of the plan, by artefact. The first failure stops the rest, and unfinished files stay.

        Raises MoetBootError when it does not fit, NetworkError and the artefact errors.
        """
        _require_room(plan)
        fetching = Meter(plan.missing_bytes, self.on_fetch, self.stop)
        comparing = Meter(sum(artefact.size_bytes for artefact in plan.artefacts), self.on_compare, self.stop)
        jobs = [
            (file, artefact.wanted.name, self._work(artefact, fetching, comparing))
            for artefact in plan.artefacts
            for file in artefact.files
        ]
        jobs.sort(key=lambda job: -job[0].place.file.size)  # the longest first, or it is alone at the end
        brought: dict[str, list[Brought]] = {artefact.wanted.name: [] for artefact in plan.artefacts}
        crew = [partial(_named, name, work, file) for file, name, work in jobs]
        for name, file in results_of(crew, AT_ONCE, self.stop):
            brought[name].append(file)
        return brought

    def _work(self, artefact: PlannedArtefact, fetching: Meter, comparing: Meter) -> "_Work":
        sleep = self.sleep or self.stop.wait
        download = Download(self.hub, artefact.wanted.repo, artefact.commit, fetching.tick, sleep)
        return _Work(download, fetching, comparing)


@dataclass(frozen=True)
class _Work:
    """The way of one file, in a thread of its own."""

    download: Download
    fetching: Meter
    comparing: Meter

    def __call__(self, planned: PlannedFile) -> Brought:
        place = planned.place
        if planned.there and self._differs(place, place.target) is None:
            place.record(self.download.commit)
            return Brought(place, fetched=False)
        for meter in (self.fetching, self.comparing) if planned.there else ():
            meter.expect(place.file.size)
        place.prepare()
        replaced = place.target.exists()
        self._fetch(place)
        older = place.put()
        place.record(self.download.commit)
        return Brought(place, fetched=True, replaced=replaced, older=older)

    def _fetch(self, place: Place) -> None:
        """Download until the content is right: an unfinished file of an earlier try may have gone bad on the disk."""
        begun_earlier = self.download.bring(place.file, place.part)
        found = self._differs(place, place.part)
        if found is not None and begun_earlier:
            self._discard(place)
            for meter in (self.fetching, self.comparing):
                meter.expect(place.file.size)
            self.download.bring(place.file, place.part)
            found = self._differs(place, place.part)
        if found is not None:
            self._discard(place)
            raise ArtefactDamagedError(
                f"{place.file.path} of {self.download.repo} came damaged: its digest is {found}, not {place.file.etag}",
                fix=f"look at network, proxy and disk, then {AGAIN}",
            )

    def _differs(self, place: Place, path: Path) -> str | None:
        """The digest of a file that is not what the hub lists, None for one that is."""
        relay = self.comparing.relay()
        found = place.file.digest_of(path, relay)
        if not place.file.large:
            relay(place.file.size, place.file.size)
        return None if found == place.file.etag else found

    @staticmethod
    def _discard(place: Place) -> None:
        with writing(place.part):
            place.part.unlink()


def _named(name: str, work: _Work, planned: PlannedFile) -> tuple[str, Brought]:
    return name, work(planned)


def _require_room(plan: FetchPlan) -> None:
    if not plan.fits:
        needed = plan.missing_bytes + RESERVE_BYTES
        raise MoetBootError(
            f"{plan.folder} has {format_bytes(plan.free_bytes)} free, {format_bytes(plan.missing_bytes)} are to come"
            f" and {format_bytes(RESERVE_BYTES)} should stay free",
            fix=f"free {format_bytes(needed - plan.free_bytes)}, choose another --dir, or fetch less with --only",
        )
