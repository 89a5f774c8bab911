"""`fetch`: one at a time in a folder; plan, bring, check."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from moet_boot.errors import BusyError
from moet_boot.fetch.bring import Brought, Carrier
from moet_boot.fetch.hub import Hub
from moet_boot.fetch.plan import FetchPlan, PlannedArtefact, plan_fetch
from moet_boot.fetch.verify import check_artefact
from moet_boot.fetch.wanted import wanted_artefacts
from moet_boot.planes.direct_write import unwritable
from moet_boot.profile.model import Profile

LOCK = ".moet-boot-fetch.lock"


@dataclass(frozen=True)
class Fetched:
    """An artefact that is whole and right, and what that took."""

    planned: PlannedArtefact
    files: tuple[Brought, ...]
    notes: tuple[str, ...]


def plan_profile(hub: Hub, profile: Profile, folder: Path, only: Sequence[str] = ()) -> FetchPlan:
    """What a fetch of a profile's artefacts would do. Writes nothing. Raises what its two steps raise."""
    wanted, left_out = wanted_artefacts(profile, folder, only)
    return plan_fetch(hub, wanted, left_out, folder)


def fetch_profile(
    carrier: Carrier, profile: Profile, folder: Path, only: Sequence[str] = ()
) -> tuple[FetchPlan, list[Fetched]]:
    """Fetch the artefacts of a profile; what is here and right stays as it is.

    Raises BusyError when another fetch works in the folder, and what planning, bringing and checking raise.
    """
    wanted, left_out = wanted_artefacts(profile, folder, only)
    with _alone(folder):
        plan = plan_fetch(carrier.hub, wanted, left_out, folder)
        brought = carrier.bring(plan)
        return plan, [_checked(artefact, brought[artefact.wanted.name]) for artefact in plan.artefacts]


def _checked(artefact: PlannedArtefact, files: list[Brought]) -> Fetched:
    kept = [f"{file.older} is what was there before" for file in files if file.older]
    return Fetched(artefact, tuple(files), (*kept, *check_artefact(artefact.wanted)))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder for one fetch; the kernel lets go of it with the process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, mode=0o644)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BusyError(f"another fetch works in {folder}", fix="wait for it, or choose another --dir") from error
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield
    finally:
        lock.release()
