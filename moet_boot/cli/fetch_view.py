"""A fetch as JSON and as lines for people."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from moet_boot.fetch.fetch import Fetched
from moet_boot.fetch.plan import FetchPlan, PlannedArtefact
from moet_boot.units import format_bytes


def as_document(plan: FetchPlan, fetched: Sequence[Fetched] | None) -> dict[str, Any]:
    """The document of `fetch --json`; `fetched` is None for a dry run."""
    done = {artefact.planned.wanted.name: artefact for artefact in fetched or ()}
    return {
        "dir": str(plan.folder),
        "dry_run": fetched is None,
        "artefacts": [_row(artefact, done.get(artefact.wanted.name)) for artefact in plan.artefacts],
        "left_out": dict(plan.left_out),
        "missing_bytes": plan.missing_bytes,
        "free_bytes": plan.free_bytes,
        "fits": plan.fits,
        "path_options": path_options(plan),
    }


def _row(planned: PlannedArtefact, fetched: Fetched | None) -> dict[str, Any]:
    wanted = planned.wanted
    row = {
        "name": wanted.name,
        "kind": wanted.kind.value,
        "path": str(wanted.path),
        "repo": wanted.repo,
        "revision": planned.commit,
        "pinned_by": "revision" if wanted.revision else "sha256" if wanted.sha256 else None,
        "files": len(planned.files),
        "size_bytes": planned.size_bytes,
        "missing_bytes": planned.missing_bytes,
    }
    if fetched is None:
        return row
    return {
        **row,
        "fetched": [file.place.file.path for file in fetched.files if file.fetched],
        "replaced": [file.place.file.path for file in fetched.files if file.replaced],
        "notes": list(fetched.notes),
    }


def path_options(plan: FetchPlan) -> list[str]:
    """The `--path` options that a preflight and a boot need afterwards; none for what lies where the profile looks."""
    places = [(artefact.wanted.name, artefact.wanted) for artefact in plan.artefacts]
    return [f"--path={name}={wanted.path}" for name, wanted in places if not wanted.at_home]


def as_lines(plan: FetchPlan, fetched: Sequence[Fetched] | None) -> Iterator[str]:
    """What a person reads: what would come, or what came."""
    for planned in plan.artefacts if fetched is None else ():
        yield from _head(planned)
        yield from _to_come(planned)
    for artefact in fetched or ():
        yield from _head(artefact.planned)
        yield from _came(artefact)
    yield from (f"{name}  not fetched: {why}" for name, why in plan.left_out.items())
    if fetched is None:
        room = "fits" if plan.fits else "DOES NOT FIT"
        sizes = f"{format_bytes(plan.missing_bytes)} to come, {format_bytes(plan.free_bytes)} free"
        yield f"{sizes} in {plan.folder}: {room}"


def _to_come(planned: PlannedArtefact) -> Iterator[str]:
    here = sum(file.there for file in planned.files)
    begun = sum(file.kept for file in planned.files)
    yield f"  here     {here} of {len(planned.files)} files, by size; a fetch compares them byte for byte"
    yield f"  to come  {format_bytes(planned.missing_bytes)}" + (
        f", {format_bytes(begun)} came earlier" if begun else ""
    )


def _came(artefact: Fetched) -> Iterator[str]:
    new = sum(file.fetched and not file.replaced for file in artefact.files)
    replaced = sum(file.replaced for file in artefact.files)
    same = len(artefact.files) - new - replaced
    counts = f"{new} fetched, {replaced} replaced, {same} here already"
    yield f"  files    {counts}; each compared with the hub's digest"
    yield from (f"  note     {note}" for note in artefact.notes)


def next_command(plan: FetchPlan, profile: str, variant: str | None) -> str:
    """The preflight over what was fetched."""
    which = f"--profile {shlex.quote(profile)}" + (f" --variant {shlex.quote(variant)}" if variant else "")
    return " ".join(["moet-boot preflight", which, *map(shlex.quote, path_options(plan))])


def _head(artefact: PlannedArtefact) -> Iterator[str]:
    wanted = artefact.wanted
    yield f"{wanted.name}  {wanted.path}"
    unpinned = "sha256 pinned" if wanted.sha256 else "NOT pinned by the profile"
    pin = "pinned" if wanted.revision else f"the newest; {unpinned}"
    yield f"  from     {wanted.repo} at {artefact.commit} ({pin})"
    yield f"  size     {format_bytes(artefact.size_bytes)} in {len(artefact.files)} files"
