"""The machine that a dry run is judged against: a healthy one of the profile's kind, shipped as data."""

from moet_boot.machine.load import load_snapshot
from moet_boot.machine.snapshot import SCHEMA, Snapshot
from moet_boot.profile.files import shipped_folder
from moet_boot.profile.model import Profile


def reference_machine(profile: Profile) -> Snapshot:
    """The shipped machine of the same memory and compute capability; an empty snapshot if there is none.

    Artefacts, docker and ports are not in it: a dry run does not expect them.
    """
    gpu = profile.hardware.gpu
    name = profile.hardware.memory.value + (f"-{gpu.compute_capability}" if gpu else "")
    file = shipped_folder() / "reference" / f"{name}.json"
    if not file.is_file():
        return Snapshot(schema_=SCHEMA, errors={"reference": f"no reference machine for {name}"})
    return load_snapshot(file)
