"""What a person reads, word for word."""

from pathlib import Path

import pytest

from moet_boot.cli.planes.convert_view import as_lines as convert_lines
from moet_boot.cli.planes.diff_view import MAX_LINES
from moet_boot.cli.planes.diff_view import as_lines as diff_lines
from moet_boot.cli.planes.inspect_view import as_document as inspect_document
from moet_boot.cli.planes.inspect_view import as_lines as inspect_lines
from moet_boot.cli.planes.inspect_view import ranges
from moet_boot.cli.planes.skip_view import as_document as skip_document
from moet_boot.cli.planes.skip_view import as_lines as skip_lines
from moet_boot.planes.convert import ConvertReport
from moet_boot.planes.convert_request import Container, Fp4
from moet_boot.planes.description import Description
from moet_boot.planes.diff import PlanesDiff, SlotDifference
from moet_boot.planes.geometry import DS4_FLASH
from moet_boot.planes.loader_skip import forecast
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_causes import Cause, Miss
from moet_boot.planes.skip_contents import ContentsReport
from moet_boot.planes.skip_facts import Folder, FolderState, SkipFacts
from moet_boot.planes.skip_modes import ContentsMode
from moet_boot.planes.w2_settings import W2Settings


@pytest.mark.parametrize(
    ("numbers", "words"),
    [([], "none"), ([3], "3"), ([0, 1, 2], "0-2"), ([0, 2, 3, 9], "0, 2-3, 9"), (list(range(43)), "0-42")],
)
def test_ranges(numbers: list[int], words: str) -> None:
    assert ranges(numbers) == words


def test_a_whole_pack() -> None:
    pack = Description(
        kind="pack",
        format="v1",
        path=Path("/store/base.rank0of1.pack"),
        apparent_bytes=79_725_330_432,
        allocated_bytes=77_913_391_104,
        layers=tuple(range(43)),
        n_layers=43,
        n_experts=256,
        slot_bytes=7_077_888,
        geometry=DS4_FLASH,
        tag="base",
        ckpt_id="1234",
    )
    assert list(inspect_lines(pack)) == [
        "/store/base.rank0of1.pack",
        "  kind     pack base, v1, rank 0 of 1",
        "  model    43 layers of 256 experts, 4096 x 2048",
        "  made for ckpt_id 1234",
        "  layers   43 of 43: 0-42",
        "  size     79725330432 bytes: 74.25 GiB apparent, 72.56 GiB allocated",
        "  verdict  complete (contents were not read)",
    ]
    (document,) = inspect_document([pack])["artefacts"]
    assert (document["hidden"], document["inter"], document["whole"]) == (4096, 2048, True)
    assert document["missing_layers"] == []
    assert "geometry" not in document


def test_a_cache_with_everything_wrong() -> None:
    cache = Description(
        kind="planes-cache",
        format="v2",
        path=Path("/cache"),
        apparent_bytes=5,
        allocated_bytes=0,
        layers=(0, 2),
        n_layers=4,
        world=2,
        rank=1,
        fp4_layers=(2,),
        fp4_split=True,
        hole_layers=(2,),
        problems=("it is odd",),
        notes=("look again",),
    )
    assert list(inspect_lines(cache)) == [
        "/cache",
        "  kind     planes-cache, v2, rank 1 of 2",
        "  model    not stated",
        "  made for split mode on",
        "  layers   2 of 4: 0, 2; FP4 parts in layers 2",
        "  size     5 bytes: 5 B apparent, 0 B allocated",
        "  HOLES    in layers 2: a server reads zeros there and does not notice",
        "  PROBLEM  it is odd",
        "  note     look again",
        "  verdict  DAMAGED",
    ]
    assert not cache.whole


def test_an_incomplete_one_names_its_gaps() -> None:
    pack = Description("pack", "v1", Path("p"), 1, 1, layers=(0, 1), n_layers=5)
    assert list(inspect_lines(pack))[-1] == "  verdict  incomplete: layers 2-4 are missing"
    foreign = Description("moet2pf", "foreign", Path("p"), 1, 1, layers=())
    assert list(inspect_lines(foreign))[-1] == "  verdict  not known"


def test_the_same_planes() -> None:
    found = PlanesDiff(Path("a"), Path("b"), ("codes13", "sc13"), only_in_b=("fp13", "fp2"), slots=8)
    assert list(diff_lines(found)) == [
        "a  a",
        "b  b",
        "  compared 8 slots in codes13, sc13",
        "  note     only b has fp13, fp2: not compared",
        "  verdict  the same planes",
    ]


def test_different_planes() -> None:
    found = PlanesDiff(
        Path("a"),
        Path("b"),
        ("codes13",),
        layers_only_in_a=(4, 5),
        slots=8,
        differing=(SlotDifference(1, 2, ("codes13",)), SlotDifference(1, 3, (), "it is damaged")),
    )
    assert list(diff_lines(found))[3:] == [
        "  differ   layers 4-5 are only in a",
        "  differ   layer 1 expert 2: codes13",
        "  differ   layer 1 expert 3: it is damaged",
        "  verdict  DIFFERENT",
    ]


def test_a_flood_of_differences_is_cut_for_people() -> None:
    many = tuple(SlotDifference(0, expert, ("sc2",)) for expert in range(MAX_LINES + 5))
    lines = list(diff_lines(PlanesDiff(Path("a"), Path("b"), ("sc2",), slots=100, differing=many)))
    assert lines[-2] == "  differ   and 5 more slots (--json names all)"
    assert len(lines) == MAX_LINES + 5


def test_shapes_that_cannot_be_compared() -> None:
    assert list(diff_lines(PlanesDiff(Path("a"), Path("b"), shape="4 experts against 3")))[2:] == [
        "  differ   4 experts against 3",
        "  verdict  DIFFERENT",
    ]


def test_a_conversion() -> None:
    report = ConvertReport(
        source=Path("x.moet2pf"),
        to=Container.CACHE_V1,
        files=(Path("/cache/tp1-rank0"),),
        layers=(0, 1),
        slots=512,
        fp4=Fp4.PLAIN,
        fp4_from="checkpoint",
        ckpt_id="1234",
        bytes_written=3 << 30,
        duration_s=6.0,
    )
    assert list(convert_lines(report)) == [
        "/cache/tp1-rank0",
        "  slots    512 in layers 0-1, from x.moet2pf",
        "  FP4      plain, from the checkpoint",
        "  made for ckpt_id 1234",
        "  written  3.00 GiB in 6.00 s, 512.0 MiB/s",
    ]


def boot(**env: str) -> SkipFacts:
    full = {"VLLM_MOE_W2": "1"} | {f"VLLM_MOE_W2_{name}": value for name, value in env.items()}
    settings = W2Settings.from_env(full, ServerVersion.V1)
    missing = Folder("/planescache", FolderState.MISSING)
    return SkipFacts(settings, DS4_FLASH, "/model", "1234", cache_folder=missing)


def test_a_forecast_of_a_boot_without_caches() -> None:
    facts = boot(PLANES_CACHE="/planescache", NUM_LAYERS="40")
    lines = list(skip_lines(forecast(facts), facts, ContentsReport(ContentsMode.NONE, 0, 0, "not asked for")))
    assert lines == [
        "/model on a v1 server, ckpt_id 1234",
        "  layers   0-39: staged in host RAM",
        "    why    the server cannot look into the cache: VLLM_MOE_W2_PLANES_CACHE=/planescache does not exist",
        "    fix    mount the folder where the variable says, readable for the server",
        "  layers   40-42: not on the 2-bit path",
        f"    why    {Miss(Cause.NUM_LAYERS, 'VLLM_MOE_W2_NUM_LAYERS=40 and the model has 43').reason}",
        "    fix    unset VLLM_MOE_W2_NUM_LAYERS",
        "  host     127.50 GiB while loading: 40 staged layers 127.50 GiB, one cached layer at a time 0 B",
        "  host     120.00 GiB for the tiers' own stores",
        "  GPU      3.19 GiB for one layer's parameters while it is created",
        "  contents not asked for",
        "  verdict  miss",
    ]


def test_a_forecast_as_a_document() -> None:
    facts = boot(PLANES_CACHE="/planescache", DELTA_GB="0")
    document = skip_document(forecast(facts), facts, ContentsReport(ContentsMode.SAMPLE, 3, 9))
    assert list(document)[:5] == ["server", "layers", "host_transient_bytes", "resident_store_bytes", "verdict"]
    assert document["verdict"] == "miss"
    assert document["host_transient_bytes"] == 43 * 3_422_552_064
    assert document["resident_store_bytes"] == 0
    assert document["contents"] == {"mode": "sample", "compared_slots": 3, "all_slots": 9, "note": None}
    assert len(document["layers"]) == 43
    assert document["layers"][42] == {
        "layer": 42,
        "w2": True,
        "skip": False,
        "source": None,
        "served": False,
        "cause": "folder",
        "reason": "the server cannot look into the cache: VLLM_MOE_W2_PLANES_CACHE=/planescache does not exist",
        "fix": "mount the folder where the variable says, readable for the server",
        "danger": None,
    }
