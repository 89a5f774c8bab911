import hashlib
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.planes.checkpoint_source import CheckpointSource
from moet_boot.planes.geometry import Geometry, SlotKind
from moet_boot.planes.open_source import open_part
from moet_boot.planes.rank_source import RankSource
from moet_boot.planes.slot_source import BASE_SECTIONS, FP4_SECTIONS, SPLIT_SECTIONS
from testing.checkpoints import write_checkpoint
from testing.fake_planes import FakeSource
from testing.golden import GOLDEN, golden_json
from testing.plane_file import FOREIGN, OWN, TINY

ALL_SECTIONS = (*BASE_SECTIONS, *FP4_SECTIONS, *SPLIT_SECTIONS)
STORE, CACHE = GOLDEN / "vi_store_v1" / "store", GOLDEN / "vi_store_v1" / "planes"


@pytest.mark.parametrize("path", [OWN, FOREIGN["a"], STORE, CACHE], ids=["own", "foreign", "pack", "cache"])
@pytest.mark.parametrize("rank", [0, 1])
def test_two_ranks_get_the_golden_slices_of_any_container(path: Path, rank: int) -> None:
    body = hashlib.sha256()
    with closing(open_part(path, TINY, 2, rank)) as source:
        assert (source.world, source.rank, source.geometry.slot_bytes) == (2, rank, 13_824)
        for layer in source.layers:
            for expert in range(source.geometry.n_experts):
                sections = source.slot(layer, expert, BASE_SECTIONS)
                body.update(b"".join(sections[section.name] for section in source.geometry.sections()))
    assert body.hexdigest() == golden_json("iv_expected.json")["tp2"][rank]["concat_body_sha256"]


@given(
    blocks=st.integers(1, 3), hidden=st.integers(1, 3), world=st.sampled_from([1, 2, 3, 4]), seed=st.integers(0, 999)
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_every_section_of_every_rank_is_what_the_checkpoint_gives_it(
    tmp_path_factory: pytest.TempPathFactory, blocks: int, hidden: int, world: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("ranks") / "checkpoint"
    write_checkpoint(folder, Geometry(1, 1, 64 * hidden, 64 * blocks * world), seed)
    for rank in range(world):
        with (
            closing(RankSource(CheckpointSource(folder), world, rank)) as cut,
            closing(CheckpointSource(folder, world=world, rank=rank)) as made,
        ):
            assert cut.geometry == made.geometry
            mine = {name: bytes(view) for name, view in cut.slot(0, 0, ALL_SECTIONS).items()}
            assert mine == {name: bytes(view) for name, view in made.slot(0, 0, ALL_SECTIONS).items()}


def test_sizes_are_those_of_the_rank() -> None:
    source = RankSource(FakeSource(TINY), 2, 1)
    for name, view in source.slot(0, 0, ALL_SECTIONS).items():
        assert len(view) == source.geometry.section_bytes(name)
    assert sum(source.geometry.section_bytes(name) for name in BASE_SECTIONS) == source.geometry.bytes_of(SlotKind.BASE)


@pytest.mark.parametrize(
    ("whole", "world", "message"),
    [
        (FakeSource(TINY.with_tp(2)), 2, "holds rank 0 of 2 already"),
        (FakeSource(exact=False), 2, "does not say hidden and intermediate size"),
        (FakeSource(TINY), 4, "over 4 rank"),
    ],
    ids=["a part", "not exact", "too many ranks"],
)
def test_what_cannot_be_split_is_one_clear_error(whole: FakeSource, world: int, message: str) -> None:
    with pytest.raises(UsageError, match=message) as failure:
        RankSource(whole, world, 0)
    assert failure.value.fix


@pytest.mark.parametrize(("tp", "rank"), [(None, 0), (1, 0)], ids=["left out", "one"])
def test_a_whole_source_stays_as_it_is(tp: int | None, rank: int) -> None:
    with closing(open_part(OWN, None, tp, rank)) as source:
        assert not isinstance(source, RankSource)
        assert (source.world, source.rank) == (1, 0)
