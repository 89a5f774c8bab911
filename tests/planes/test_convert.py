import errno
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moet_boot.errors import (
    ArtefactDamagedError,
    ArtefactMissingError,
    BusyError,
    MoetBootError,
    UsageError,
)
from moet_boot.planes.convert import ConvertReport, convert_planes
from moet_boot.planes.convert_request import Container, ConvertRequest, Fp4
from moet_boot.planes.diff import diff_planes
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.moet2pf_read import read_header_facts
from moet_boot.planes.open_source import open_checkpoint, open_source
from testing.crash import killed_at
from testing.golden import GOLDEN, golden_json
from testing.page_cache import resident_bytes
from testing.plane_file import FOREIGN, OWN, REPO, REVISION, flip, write_plane_file
from testing.skip_cases import CHECKPOINT, V2_CKPT_ID

STORE, CACHE = GOLDEN / "vi_store_v1" / "store", GOLDEN / "vi_store_v1" / "planes"
V1_ID = "32e148f173429ae30cfcc670f4307098adcfdd20"
SOURCES = {"moet2pf": OWN, "pack": STORE, "cache": CACHE}


def convert(source: Path, to: str, out: Path, **more: Any) -> ConvertReport:
    return convert_planes(ConvertRequest(source, Container(to), out, **more))


def golden_tree(to: str) -> dict[str, bytes]:
    """Relative path -> bytes of what the reference code wrote."""
    part = "store" if "pack" in to else "planes"
    if to.endswith("v1"):
        root = GOLDEN / "vi_store_v1" / part
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    files = golden_json("vi_layout_v2.json")["files"]
    return {
        name.removeprefix(f"{part}/"): content["text"].encode()
        if "text" in content
        else (GOLDEN / content["same_bytes_as"]).read_bytes()
        for name, content in files.items()
        if name.startswith(f"{part}/")
    }


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


IDENTITY: dict[str, dict[str, Any]] = {
    "v1": {"checkpoint": CHECKPOINT, "served_path": "/model"},
    "v2": {"checkpoint": CHECKPOINT, "ckpt_id": V2_CKPT_ID},
}


@pytest.mark.parametrize("to", ["pack-v1", "pack-v2", "cache-v1", "cache-v2"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_direction_gives_the_golden_bytes(source: str, to: str, tmp_path: Path) -> None:
    report = convert(SOURCES[source], to, tmp_path / "out", **IDENTITY[to[-2:]])
    assert tree(tmp_path / "out") == golden_tree(to)
    assert report.layers == (0, 1)
    assert report.slots == 8
    assert report.fp4 is Fp4.PLAIN
    assert report.fp4_from == ("checkpoint" if source == "moet2pf" else "source")
    assert report.ckpt_id == (V1_ID if to.endswith("v1") else V2_CKPT_ID)


@pytest.mark.parametrize("source", ["moet2pf", "pack", "cache"])
def test_every_source_gives_the_golden_plane_file(source: str, tmp_path: Path) -> None:
    out = tmp_path / "out.moet2pf"
    convert(SOURCES[source], "moet2pf", out, checkpoint=CHECKPOINT, repo=REPO, revision=REVISION)
    assert out.read_bytes() == OWN.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.moet2pf"]


@pytest.mark.parametrize("letter", ["a", "b"])
def test_a_foreign_plane_file_is_checked_against_its_own_table(letter: str, tmp_path: Path) -> None:
    convert(FOREIGN[letter], "pack-v1", tmp_path / "out", **IDENTITY["v1"])
    assert tree(tmp_path / "out") == golden_tree("pack-v1")


def test_a_foreign_file_without_a_table_is_not_trusted(tmp_path: Path) -> None:
    with pytest.raises(ArtefactDamagedError, match="no table of digests"):
        convert(FOREIGN["c"], "pack-v1", tmp_path / "out", **IDENTITY["v1"])
    with pytest.raises(UsageError, match="does not say its geometry") as failure:
        convert(FOREIGN["a"], "pack-v1", tmp_path / "out", ckpt_id=V1_ID)
    assert "--checkpoint" in failure.value.fix
    assert list(tmp_path.iterdir()) == []


def test_a_store_knows_its_own_identity(tmp_path: Path) -> None:
    convert(STORE, "cache-v1", tmp_path / "out")
    assert tree(tmp_path / "out") == golden_tree("cache-v1")


@pytest.mark.parametrize(
    ("fp4", "to", "names"),
    [
        (Fp4.NONE, "pack-v1", {"base"}),
        (Fp4.PLAIN, "pack-v1", {"base", "fp4"}),
        (Fp4.SPLIT, "pack-v1", {"base", "fp4q"}),
        (Fp4.DELTA, "pack-v1", {"delta"}),
    ],
)
def test_which_packs_are_written(fp4: Fp4, to: str, names: set[str], tmp_path: Path) -> None:
    convert(OWN, to, tmp_path / "out", fp4=fp4, **IDENTITY["v1"])
    assert {path.name.split(".")[0] for path in (tmp_path / "out").iterdir()} == names


@pytest.mark.slow
@pytest.mark.parametrize("fp4", [Fp4.NONE, Fp4.PLAIN, Fp4.SPLIT])
def test_fp4_parts_survive_a_way_through_the_other_container(fp4: Fp4, tmp_path: Path) -> None:
    convert(OWN, "cache-v1", tmp_path / "cache", fp4=fp4, **IDENTITY["v1"])
    convert(tmp_path / "cache", "pack-v1", tmp_path / "store", fp4=fp4, checkpoint=CHECKPOINT)
    report = convert(tmp_path / "store", "cache-v1", tmp_path / "again", fp4=fp4)
    assert tree(tmp_path / "again") == tree(tmp_path / "cache")
    assert report.fp4_from == (None if fp4 is Fp4.NONE else "source")
    meta = json.loads((tmp_path / "again/tp1-rank0/meta.json").read_text())
    assert meta["fp4_split"] == ("w4q" if fp4 is Fp4.SPLIT else False)


def test_golden_delta_and_split_slots(tmp_path: Path) -> None:
    import hashlib

    expected = golden_json("iv_expected.json")["slots"]
    for fp4, kind, key in ((Fp4.DELTA, "delta", "slot_delta"), (Fp4.SPLIT, "fp4q", "slot_fp4q")):
        convert(OWN, "pack-v1", tmp_path / kind, fp4=fp4, **IDENTITY["v1"])
        sidecar = json.loads((tmp_path / kind / f"{kind}.rank0of1.json").read_text())
        pack = (tmp_path / kind / f"{kind}.rank0of1.pack").read_bytes()
        row = pack[5 * sidecar["stride"] :][: sidecar["slot_bytes"]]
        assert hashlib.sha256(row).hexdigest() in json.dumps(expected), key


def test_a_checkpoint_without_shards_gives_identity_only(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "model.safetensors.index.json"):
        shutil.copyfile(CHECKPOINT / name, model / name)
    report = convert(OWN, "cache-v1", tmp_path / "out", checkpoint=model, served_path="/model")
    assert (report.fp4, report.ckpt_id) == (Fp4.NONE, V1_ID)
    with pytest.raises((ArtefactMissingError, ArtefactDamagedError)):
        convert(OWN, "cache-v1", tmp_path / "more", checkpoint=model, served_path="/model", fp4=Fp4.PLAIN)


def test_a_header_says_what_is_known(tmp_path: Path) -> None:
    convert(STORE, "moet2pf", tmp_path / "a.moet2pf", checkpoint=CHECKPOINT)
    header = read_header_facts(tmp_path / "a.moet2pf").header
    assert header is not None
    assert (header.repo, header.revision) == ("unknown", "unknown")
    snapshot = tmp_path / "snapshots" / REVISION
    shutil.copytree(CHECKPOINT, snapshot)
    convert(STORE, "moet2pf", tmp_path / "b.moet2pf", checkpoint=snapshot)
    assert read_header_facts(tmp_path / "b.moet2pf").revision == REVISION


REFUSED: list[Any] = [
    pytest.param(OWN, "pack-v1", {}, UsageError, "needs the identity", id="no identity"),
    pytest.param(STORE, "pack-v2", {}, UsageError, "needs the identity", id="identity of the other server"),
    pytest.param(OWN, "pack-v1", {"ckpt_id": "x"}, UsageError, "40 lower-case hex", id="impossible v1 id"),
    pytest.param(OWN, "pack-v2", {"ckpt_id": " "}, UsageError, "is empty", id="empty id"),
    pytest.param(
        OWN, "pack-v1", {"served_path": "/model"}, ArtefactMissingError, "no folder was given", id="no checkpoint"
    ),
    pytest.param(OWN, "cache-v1", {"zero_mode": "x"}, UsageError, "does not exist", id="zero mode"),
    pytest.param(OWN, "moet2pf", {"fp4": Fp4.PLAIN}, UsageError, "2-bit planes only", id="fp4 in a plane file"),
    pytest.param(OWN, "cache-v1", {"fp4": Fp4.DELTA, "ckpt_id": V1_ID}, UsageError, "in a pack", id="delta in a cache"),
    pytest.param(
        OWN, "pack-v1", {"fp4": Fp4.PLAIN, "ckpt_id": V1_ID}, UsageError, "does not hold fp13", id="nothing gives fp4"
    ),
    pytest.param(STORE, "moet2pf", {}, UsageError, "does not say hidden", id="unknown shape"),
    pytest.param(CACHE, "pack-v1", {}, UsageError, "does not state its own", id="unknown cache geometry"),
    pytest.param(
        Path("/nowhere"), "pack-v1", {"ckpt_id": V1_ID}, ArtefactMissingError, "does not exist", id="no source"
    ),
    pytest.param(
        CHECKPOINT, "pack-v1", {"ckpt_id": V1_ID}, ArtefactDamagedError, "holds no plane file", id="no planes"
    ),
    pytest.param(
        GOLDEN / "vi_cases.json", "pack-v1", {"ckpt_id": V1_ID}, ArtefactDamagedError, "MOET2PF", id="other file"
    ),
]


@pytest.mark.parametrize(("source", "to", "more", "error", "words"), REFUSED)
def test_what_cannot_be_converted_is_refused_before_anything_is_written(
    source: Path, to: str, more: dict[str, Any], error: type[MoetBootError], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words) as failure:
        convert(source, to, tmp_path / "out", **more)
    assert failure.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", ["pack-v1", "pack-v2", "cache-v1", "cache-v2", "moet2pf"])
def test_what_exists_is_kept_unless_forced(to: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    more = IDENTITY["v2" if to.endswith("v2") else "v1"]
    convert(OWN, to, out, **more)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="exists already") as failure:
        convert(OWN, to, out, **more)
    assert "--force" in failure.value.fix
    assert tree(tmp_path) == before
    convert(OWN, to, out, force=True, **more)
    assert tree(tmp_path) == before


def test_a_forced_conversion_can_give_a_store_a_new_identity(tmp_path: Path) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    convert(tmp_path / "store", "pack-v1", tmp_path / "store", served_path="/other", checkpoint=CHECKPOINT, force=True)
    sidecar = json.loads((tmp_path / "store/base.rank0of1.json").read_text())
    assert sidecar["ckpt_id"] != V1_ID
    assert (tmp_path / "store/base.rank0of1.pack").read_bytes() == (STORE / "base.rank0of1.pack").read_bytes()


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("to", ["pack-v1", "pack-v2", "cache-v1", "cache-v2"])
def test_a_plane_file_gives_each_of_two_ranks_its_part(to: str, rank: int, tmp_path: Path) -> None:
    convert(OWN, to, tmp_path / "out", tp=2, rank=rank, **IDENTITY[to[-2:]])
    with closing(open_checkpoint(CHECKPOINT, world=2, rank=rank)) as made:
        named = f"rank{rank}of2" if "pack" in to else f"tp2-rank{rank}"
        assert all(named in path for path in tree(tmp_path / "out"))
        with closing(open_source(tmp_path / "out", made.geometry)) as part:
            assert (part.world, part.rank, part.layers) == (2, rank, (0, 1))
            for layer, expert in [(0, 0), (0, 3), (1, 2)]:
                mine = {name: bytes(view) for name, view in part.slot(layer, expert, part.sections).items()}
                assert mine.keys() == {"codes13", "sc13", "codes2", "sc2", "fp13", "fp2"}
                assert mine == {name: bytes(view) for name, view in made.slot(layer, expert, part.sections).items()}


def test_both_ranks_lie_beside_each_other_and_a_part_is_not_split_again(tmp_path: Path) -> None:
    for rank in (0, 1):
        convert(STORE, "cache-v1", tmp_path / "cache", tp=2, rank=rank, **IDENTITY["v1"])
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["tp2-rank0", "tp2-rank1"]
    part = tmp_path / "cache" / "tp2-rank1"
    convert(part, "pack-v1", tmp_path / "store", tp=2, rank=1, checkpoint=CHECKPOINT, served_path="/model")
    assert (tmp_path / "store" / "base.rank1of2.pack").exists()
    with pytest.raises(UsageError, match="holds rank 1 of 2 already"):
        convert(part, "pack-v1", tmp_path / "more", tp=2, rank=0, checkpoint=CHECKPOINT, served_path="/model")
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize(
    ("to", "part", "message"),
    [
        ("cache-v1", {"tp": 2, "rank": 2}, "rank 2 does not exist among 2"),
        ("cache-v1", {"rank": 1}, "rank 1 does not exist without --tp"),
        ("cache-v1", {"tp": 3}, "over 3 rank"),
        ("moet2pf", {"tp": 2}, "a plane file holds whole experts"),
    ],
    ids=["rank too big", "rank alone", "no such split", "plane file"],
)
def test_a_part_that_cannot_be_is_refused(to: str, part: dict[str, int], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        convert(OWN, to, tmp_path / "out", **part, **(IDENTITY["v1"] if to == "cache-v1" else {}))
    assert list(tmp_path.iterdir()) == []


def test_a_partial_store_stays_partial(tmp_path: Path) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    for tag in ("base", "fp4"):
        path = tmp_path / f"store/{tag}.rank0of1.json"
        path.write_text(path.read_text().replace("[0, 1]", "[1]"))
    assert convert(tmp_path / "store", "cache-v1", tmp_path / "cache").layers == (1,)
    assert not list((tmp_path / "cache").rglob("layer0.*"))
    with pytest.raises(UsageError, match=r"lacks layers \[0\]"):
        convert(tmp_path / "store", "moet2pf", tmp_path / "x.moet2pf", checkpoint=CHECKPOINT)


def test_an_fp4_pack_that_lacks_a_layer_is_left_out(tmp_path: Path) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    path = tmp_path / "store/fp4.rank0of1.json"
    path.write_text(path.read_text().replace("[0, 1]", "[1]"))
    report = convert(tmp_path / "store", "cache-v1", tmp_path / "cache")
    assert (report.layers, report.fp4) == ((0, 1), Fp4.NONE)


def test_damage_in_the_source_stops_a_conversion(tmp_path: Path) -> None:
    shutil.copyfile(OWN, tmp_path / "x.moet2pf")
    flip(tmp_path / "x.moet2pf", OWN.stat().st_size - 28672)
    with pytest.raises(ArtefactDamagedError, match="layer 1 expert 3 is damaged"):
        convert(tmp_path / "x.moet2pf", "pack-v1", tmp_path / "out", **IDENTITY["v1"])
    assert not (tmp_path / "out").exists()


def test_a_hole_in_the_source_stops_a_conversion(tmp_path: Path) -> None:
    shutil.copytree(STORE, tmp_path / "store")
    (tmp_path / "store/fp4.rank0of1.json").unlink()
    (tmp_path / "store/fp4.rank0of1.pack").unlink()
    with (tmp_path / "store/base.rank0of1.pack").open("r+b") as file:
        file.seek(28672)
        file.write(bytes(28672))
    with pytest.raises(ArtefactDamagedError, match="layer 0 expert 1 is all zeros"):
        convert(tmp_path / "store", "cache-v1", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_fp4_parts_of_another_checkpoint_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.moet2pf"
    write_plane_file(other, Geometry(n_layers=2, n_experts=4, hidden=256, inter=128), seed=7)
    with pytest.raises(ArtefactDamagedError, match="is not what") as failure:
        convert(other, "cache-v1", tmp_path / "out", **IDENTITY["v1"])
    assert "--fp4 none" in failure.value.fix
    assert convert(other, "cache-v1", tmp_path / "out", fp4=Fp4.NONE, **IDENTITY["v1"]).fp4 is Fp4.NONE


def test_a_delta_pack_of_another_checkpoint_is_noticed_too(tmp_path: Path) -> None:
    convert(OWN, "pack-v1", tmp_path / "delta", fp4=Fp4.DELTA, **IDENTITY["v1"])
    base = convert(tmp_path / "delta", "pack-v1", tmp_path / "base", fp4=Fp4.NONE, checkpoint=CHECKPOINT)
    assert diff_planes(tmp_path / "base", OWN).same
    assert base.layers == (0, 1)
    flip(tmp_path / "delta/delta.rank0of1.pack", 100)
    with pytest.raises(ArtefactDamagedError, match=r"fp13 differ"):
        convert(tmp_path / "delta", "pack-v1", tmp_path / "again", fp4=Fp4.NONE, checkpoint=CHECKPOINT)


def test_two_conversions_into_one_folder_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with FileLock(tmp_path / "out/.convert.tmp-moet-boot.lock"), pytest.raises(BusyError, match="being written"):
        convert(OWN, "pack-v1", tmp_path / "out", **IDENTITY["v1"])


def test_places_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        convert(OWN, "pack-v1", tmp_path / "file", **IDENTITY["v1"])
    for to in ("pack-v1", "moet2pf"):
        with pytest.raises(ArtefactMissingError, match="does not exist"):
            convert(OWN, to, tmp_path / "deep/er", **IDENTITY["v1"])
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_known_before_the_first_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result((1,) * 10))
    with pytest.raises(MoetBootError, match=r"--fp4 none leaves them out.* are free"):
        convert(OWN, "cache-v1", tmp_path / "out", **IDENTITY["v1"])
    assert list(tmp_path.iterdir()) == []


def failing(call: Callable[..., Any], number: int, step: int) -> Callable[..., Any]:
    left = step

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(number, os.strerror(number))
        return call(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize("to", ["pack-v1", "cache-v1", "moet2pf"])
@pytest.mark.parametrize("name", ["pwrite", "fsync", "ftruncate", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("step", [0, 1, 3])
def test_a_disk_that_fails_leaves_nothing(
    to: str, name: str, number: int, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, name, failing(getattr(os, name), number, step))
        try:
            convert(OWN, to, out, fp4=Fp4.NONE, **IDENTITY["v1"])
        except MoetBootError as failure:
            assert failure.fix  # noqa: PT017
            outcome = "failed"
        else:
            outcome = "finished"
    assert_absent_or_whole(to, out)
    leftovers = [path for path in tmp_path.rglob("*") if ".tmp" in path.name or ".partial" in path.name]
    assert leftovers == []
    assert outcome == "finished" or step < 4


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("step", [0, 2, 7])
def test_a_source_that_cannot_be_read_leaves_nothing(
    source: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "preadv", failing(os.preadv, errno.EIO, step))
        with pytest.raises(ArtefactDamagedError, match="Input/output error") as failure:
            convert(SOURCES[source], "pack-v1", tmp_path / "out", fp4=Fp4.NONE, **IDENTITY["v1"])
    assert failure.value.fix
    assert list(tmp_path.iterdir()) == []


def trusted(to: str, out: Path) -> Path | None:
    """What a server (or reader) would take for whole, None when there is nothing."""
    name = {"pack-v1": "base.rank0of1.json", "cache-v1": "tp1-rank0/meta.json", "moet2pf": ""}[to]
    path = out / name if name else out
    return path if path.exists() else None


def assert_absent_or_whole(to: str, out: Path) -> None:
    if trusted(to, out):
        assert diff_planes(OWN, out).same
        if to == "pack-v1":
            assert json.loads((out / "base.rank0of1.json").read_text())["layers"] == [0, 1]


def count_steps(to: str, folder: Path) -> int:
    """How many writing calls a conversion takes."""
    for steps in range(0, 1000, 8):
        out = folder / f"count{steps}"
        if not killed_at(steps, partial(convert, OWN, to, out, fp4=Fp4.NONE, **IDENTITY["v1"])):
            return steps
    raise AssertionError("a conversion that never ends")


@pytest.mark.slow
@pytest.mark.parametrize("to", ["pack-v1", "cache-v1", "moet2pf"])
def test_a_kill_at_any_moment_leaves_nothing_or_everything(to: str, tmp_path: Path) -> None:
    last = count_steps(to, tmp_path)
    for step in range(0, last, 3):
        out = tmp_path / f"out{step}"
        killed_at(step, partial(convert, OWN, to, out, fp4=Fp4.NONE, **IDENTITY["v1"]))
        assert_absent_or_whole(to, out)
        if not trusted(to, out):
            convert(OWN, to, out, fp4=Fp4.NONE, force=True, **IDENTITY["v1"])
            assert diff_planes(OWN, out).same


@pytest.mark.slow
@pytest.mark.parametrize("to", ["pack-v1", "cache-v1", "moet2pf"])
def test_a_kill_while_replacing_keeps_the_old_or_brings_the_new(to: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert(OWN, to, out, fp4=Fp4.NONE, **IDENTITY["v1"])
    for step in range(0, 40, 3):
        killed_at(step, partial(convert, OWN, to, out, fp4=Fp4.NONE, force=True, **IDENTITY["v1"]))
        assert_absent_or_whole(to, out)
    convert(OWN, to, out, fp4=Fp4.NONE, force=True, **IDENTITY["v1"])
    assert diff_planes(OWN, out).same


def test_an_interrupt_cleans_up(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        assert 0 < done < total
        raise KeyboardInterrupt

    for to in ("pack-v1", "cache-v1", "moet2pf"):
        with pytest.raises(KeyboardInterrupt):
            convert_planes(ConvertRequest(OWN, Container(to), tmp_path / to, **IDENTITY["v1"]), interrupt)
    assert list(tmp_path.iterdir()) == []


def test_the_page_cache_stays_as_it_was(tmp_path: Path) -> None:
    convert(OWN, "pack-v1", tmp_path / "out", fp4=Fp4.NONE, **IDENTITY["v1"])
    convert(OWN, "cache-v1", tmp_path / "cache", fp4=Fp4.NONE, **IDENTITY["v1"])
    big = [*(tmp_path / "out").glob("*.pack"), *(tmp_path / "cache").rglob("*.bin")]
    assert sum(resident_bytes(path) for path in big) == 0


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    convert_planes(
        ConvertRequest(OWN, Container.PACK_V1, tmp_path / "out", ckpt_id=V1_ID),
        lambda done, total: seen.append((done, total)),
    )
    assert len(seen) == 8
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)


geometries = st.builds(
    Geometry,
    n_layers=st.integers(1, 3),
    n_experts=st.integers(1, 3),
    hidden=st.sampled_from([64, 128, 192]),
    inter=st.sampled_from([64, 128]),
)
CHAIN = st.permutations(["pack-v1", "pack-v2", "cache-v1", "cache-v2", "moet2pf"])


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(geometry=geometries, seed=st.integers(0, 1 << 30), chain=CHAIN)
def test_planes_survive_any_way_through_all_containers(
    geometry: Geometry, seed: int, chain: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("chain")
    first = folder / "first.moet2pf"
    write_plane_file(first, geometry, seed)
    model = folder / "model"
    model.mkdir()
    config = {
        "num_hidden_layers": geometry.n_layers,
        "n_routed_experts": geometry.n_experts,
        "hidden_size": geometry.hidden,
        "moe_intermediate_size": geometry.inter,
    }
    (model / "config.json").write_text(json.dumps(config))
    source = first
    for to in chain:
        out = folder / to
        convert(source, to, out, checkpoint=model, ckpt_id=V1_ID, repo=REPO, revision=REVISION)
        source = out
    convert(source, "moet2pf", folder / "last.moet2pf", checkpoint=model, repo=REPO, revision=REVISION)
    assert (folder / "last.moet2pf").read_bytes() == first.read_bytes()


def test_the_lock_is_gone_afterwards(tmp_path: Path) -> None:
    convert(OWN, "pack-v1", tmp_path / "out", ckpt_id=V1_ID)
    assert not list((tmp_path / "out").glob(".*"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["base.rank0of1.json", "base.rank0of1.pack"]
