from pathlib import Path

import pytest

from moet_boot.errors import ArtefactDamagedError
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.slot_source import cut, differing_sections, require_written

TINY = Geometry(n_layers=1, n_experts=1, hidden=64, inter=64)


def views(**sections: bytes) -> dict[str, memoryview]:
    return {name: memoryview(data) for name, data in sections.items()}


@pytest.mark.parametrize("kind", SlotKind)
def test_a_slot_is_cut_into_its_sections(kind: SlotKind) -> None:
    slot = bytes(number % 256 for number in range(TINY.bytes_of(kind)))
    names = [section.name for section in TINY.sections(kind)]
    sections = cut(memoryview(slot), TINY, kind, names)
    assert b"".join(sections[name] for name in names) == slot
    assert set(cut(memoryview(slot), TINY, kind, names[:1])) == {names[0]}


@pytest.mark.parametrize(
    ("sections", "zero"),
    [
        pytest.param(views(codes13=bytes(100), sc13=b"x"), "codes13", id="codes13"),
        pytest.param(views(codes13=b"x", codes2=bytes(100)), "codes2", id="codes2"),
        pytest.param(views(fp13=bytes(9), fp2=bytes(9), sc13=b"x"), "fp13, fp2", id="both FP4 planes"),
        pytest.param(views(q13=bytes(9), q2=bytes(9)), "q13, q2", id="both quintal planes"),
    ],
)
def test_weights_that_were_never_written(sections: dict[str, memoryview], zero: str) -> None:
    with pytest.raises(ArtefactDamagedError, match=f"layer 3 expert 7 is all zeros in {zero}"):
        require_written(sections, Path("pack"), 3, 7)


@pytest.mark.parametrize(
    "sections",
    [
        pytest.param(views(codes13=bytes(100) + b"\x01", codes2=b"\x01"), id="late first byte"),
        pytest.param(views(fp13=bytes(9), fp2=b"\x01"), id="one FP4 plane"),
        pytest.param(views(sc13=bytes(9)), id="scales may be zero"),
        pytest.param({}, id="nothing"),
    ],
)
def test_weights_that_were_written(sections: dict[str, memoryview]) -> None:
    require_written(sections, Path("pack"), 0, 0)
    with pytest.raises(ArtefactDamagedError, match="all zeros in codes2:"):
        require_written({**sections, **views(codes2=bytes(100))}, Path("pack"), 0, 0)


def test_differences_are_named_in_order() -> None:
    mine, theirs = views(a=b"1", b=b"2", c=b"3"), views(a=b"1", b=b"x", c=b"y")
    assert differing_sections(mine, theirs, ["c", "b", "a"]) == ("c", "b")
