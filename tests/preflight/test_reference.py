import pytest

from moet_boot.machine.snapshot import Snapshot
from moet_boot.preflight.reference import reference_machine
from moet_boot.profile.files import shipped_folder, shipped_names
from tests.checks.cases import resolved


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_profile_has_a_machine_of_its_kind(name: str) -> None:
    profile = resolved(name, None, ())
    machine = reference_machine(profile)
    assert machine.arch in profile.hardware.architectures
    assert machine.meminfo is not None
    assert machine.meminfo.available_bytes
    assert (machine.nvml is not None) is (profile.hardware.gpu is not None)


def test_a_reference_machine_has_no_artefacts() -> None:
    for file in (shipped_folder() / "reference").glob("*.json"):
        text = file.read_text()
        for group in ('"files"', '"checkpoint"', '"docker"', '"ports_in_use"', '"fs"'):
            assert group not in text


def test_hardware_that_nobody_recorded() -> None:
    profile = resolved("rtx6000-a", None, ())
    gpu = profile.hardware.gpu
    assert gpu is not None
    hardware = profile.hardware.model_copy(update={"gpu": gpu.model_copy(update={"compute_capability": "10.0"})})
    machine = reference_machine(profile.model_copy(update={"hardware": hardware}))
    assert machine.model_copy(update={"errors": {}, "schema_": None}) == Snapshot()
    assert "discrete-10.0" in machine.errors["reference"]
