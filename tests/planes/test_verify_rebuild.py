from dataclasses import replace
from pathlib import Path

import pytest

from moet_boot.planes.verify import verify_file
from testing.plane_file import (
    FOREIGN,
    OWN,
    TINY,
    copy_of,
    put,
    write_plane_file,
)
from testing.verification import BODY, FULL, ORIGIN, STRIDE


@pytest.mark.parametrize("path", [OWN, FOREIGN["a"], FOREIGN["c"]], ids=["own", "foreign", "without a table"])
def test_slots_can_be_compared_with_what_the_checkpoint_gives(path: Path) -> None:
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, rebuild=5))
    assert "5 of 5 slots were rebuilt from the checkpoint and are equal" in report.findings.notes


def test_planes_of_another_checkpoint_are_unmasked_by_a_rebuild(tmp_path: Path) -> None:
    path = tmp_path / "planes"
    write_plane_file(path, TINY, seed=1)
    assert verify_file(path, replace(FULL, checkpoint=ORIGIN)).ok
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, rebuild=2, seed=3))
    assert not report.ok
    assert len(report.findings.problems) == 2
    assert "is not what the checkpoint gives" in report.findings.problems[0]


def test_swapped_slots_are_unmasked_by_a_rebuild(tmp_path: Path) -> None:
    path = copy_of(FOREIGN["b"], tmp_path)
    data = path.read_bytes()
    for slot, other in ((1, 2), (2, 1)):
        put(path, BODY + slot * STRIDE, data[BODY + other * STRIDE :][:STRIDE])
    assert verify_file(path, replace(FULL, checkpoint=ORIGIN)).ok
    report = verify_file(path, replace(FULL, checkpoint=ORIGIN, rebuild=8))
    assert [problem.split()[1] for problem in report.findings.problems] == ["1", "2"]


def test_a_rebuild_of_more_slots_than_there_are_takes_all() -> None:
    report = verify_file(OWN, replace(FULL, checkpoint=ORIGIN, rebuild=99))
    assert "8 of 8 slots were rebuilt" in report.findings.notes[-1]
