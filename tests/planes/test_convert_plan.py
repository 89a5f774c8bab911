from pathlib import Path
from typing import Any

import pytest

from moet_boot.errors import UsageError
from moet_boot.planes.cache_target import CacheTarget
from moet_boot.planes.checkpoint_identity import checkpoint_id
from moet_boot.planes.convert_plan import make_targets, target_ckpt_id
from moet_boot.planes.convert_request import Container, ConvertRequest, Fp4, check_request
from moet_boot.planes.geometry import Geometry
from moet_boot.planes.pack_target import PackTarget
from moet_boot.planes.plane_file_target import PlaneFileTarget
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.slot_source import BASE_SECTIONS, FP4_SECTIONS, SPLIT_SECTIONS, Origin
from testing.fake_planes import FakeSource
from testing.skip_cases import CHECKPOINT

V1, V2 = ServerVersion.V1, ServerVersion.V2
SHA1 = "0123456789abcdef0123456789abcdef01234567"


def request(to: str = "pack-v1", **more: Any) -> ConvertRequest:
    return ConvertRequest(Path("source"), Container(to), Path("out"), **more)


@pytest.mark.parametrize(
    ("to", "fp4", "needs"),
    [
        pytest.param("pack-v1", Fp4.NONE, [BASE_SECTIONS], id="base"),
        pytest.param("pack-v2", Fp4.PLAIN, [BASE_SECTIONS, ("fp13", "sc13", "fp2", "sc2")], id="base and fp4"),
        pytest.param("pack-v1", Fp4.SPLIT, [BASE_SECTIONS, SPLIT_SECTIONS], id="base and fp4q"),
        pytest.param("pack-v2", Fp4.DELTA, [FP4_SECTIONS], id="delta alone"),
        pytest.param("cache-v1", Fp4.NONE, [BASE_SECTIONS], id="2-bit cache"),
        pytest.param("cache-v2", Fp4.PLAIN, [(*BASE_SECTIONS, *FP4_SECTIONS)], id="cache with FP4 parts"),
        pytest.param("cache-v1", Fp4.SPLIT, [(*BASE_SECTIONS, *SPLIT_SECTIONS)], id="split cache"),
        pytest.param("moet2pf", Fp4.NONE, [BASE_SECTIONS], id="plane file"),
    ],
)
def test_what_each_container_needs(to: str, fp4: Fp4, needs: list[tuple[str, ...]]) -> None:
    targets = make_targets(request(to, ckpt_id=SHA1), FakeSource(), fp4)
    assert [target.needs for target in targets] == needs
    kind = {"p": PackTarget, "c": CacheTarget, "m": PlaneFileTarget}[to[0]]
    assert all(type(target) is kind for target in targets)
    assert all(target.bytes_to_write > 0 for target in targets)


@pytest.mark.parametrize(
    ("to", "given", "origin", "expected"),
    [
        pytest.param("pack-v1", {"ckpt_id": SHA1}, Origin(), SHA1, id="given"),
        pytest.param("pack-v2", {"ckpt_id": " mine "}, Origin(), "mine", id="trimmed as the server does"),
        pytest.param("pack-v1", {"ckpt_id": SHA1}, Origin(V1, ckpt_id="old"), SHA1, id="given wins over the source"),
        pytest.param("pack-v1", {}, Origin(V1, ckpt_id="old"), "old", id="kept"),
        pytest.param("cache-v2", {}, Origin(V2, ckpt_id="old"), "old", id="kept, v2"),
        pytest.param(
            "cache-v1",
            {"served_path": "/model", "checkpoint": CHECKPOINT},
            Origin(V1, ckpt_id="old"),
            checkpoint_id(V1, CHECKPOINT, "/model"),
            id="computed",
        ),
        pytest.param(
            "pack-v2",
            {"served_path": "deepseek-ai/DeepSeek-V4-Flash", "revision": SHA1},
            Origin(),
            checkpoint_id(V2, None, "deepseek-ai/DeepSeek-V4-Flash", SHA1),
            id="hub id",
        ),
    ],
)
def test_whose_identity_is_written(to: str, given: dict[str, Any], origin: Origin, expected: str) -> None:
    assert target_ckpt_id(request(to, **given), FakeSource(origin=origin)) == expected


@pytest.mark.parametrize(
    ("to", "origin"),
    [
        pytest.param("pack-v1", Origin(), id="plane file"),
        pytest.param("pack-v2", Origin(V1, ckpt_id="old"), id="v1 for v2"),
        pytest.param("cache-v1", Origin(V2, ckpt_id="old"), id="v2 for v1"),
        pytest.param("cache-v1", Origin(V1), id="a source without an id"),
    ],
)
def test_no_identity_is_made_up(to: str, origin: Origin) -> None:
    with pytest.raises(UsageError, match="needs the identity") as failure:
        target_ckpt_id(request(to), FakeSource(origin=origin))
    assert "--served-path" in failure.value.fix


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param(FakeSource(Geometry(2, 2, 64, 128, tp=2), rank=1), "holds rank 1 of 2", id="a rank"),
        pytest.param(FakeSource(exact=False), "does not say hidden", id="unknown shape"),
        pytest.param(FakeSource(layers=(1,)), r"lacks layers \[0\]", id="missing layer"),
    ],
)
def test_what_a_plane_file_cannot_be_made_from(source: FakeSource, words: str) -> None:
    with pytest.raises(UsageError, match=words) as failure:
        make_targets(request("moet2pf"), source, Fp4.NONE)
    assert failure.value.fix


def test_the_zero_mode_comes_from_the_request_or_the_source(tmp_path: Path) -> None:
    for given, origin, expected in (("alt", "sign", "alt"), (None, "sign", "sign"), (None, None, "auto")):
        source = FakeSource(origin=Origin(V2, ckpt_id="x", zero_mode=origin))
        (target,) = make_targets(request("cache-v2", zero_mode=given), source, Fp4.NONE)
        assert isinstance(target, CacheTarget)
        assert target._identity.zero_mode == expected


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"zero_mode": "none"}, "zero mode 'none'", id="zero mode"),
        pytest.param({"ckpt_id": ""}, "is empty", id="empty id"),
        pytest.param({"ckpt_id": SHA1.upper()}, "no v1 id", id="upper case"),
        pytest.param({"ckpt_id": SHA1[:-1]}, "no v1 id", id="39 digits"),
        pytest.param({"to": "cache-v1", "fp4": Fp4.DELTA}, "in a pack", id="delta in a cache"),
        pytest.param({"to": "moet2pf", "fp4": Fp4.SPLIT}, "2-bit planes only", id="FP4 in a plane file"),
    ],
)
def test_requests_that_can_never_work(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as failure:
        check_request(request(**changes))
    assert failure.value.fix


@pytest.mark.parametrize(
    "changes",
    [
        {"ckpt_id": SHA1},
        {"to": "pack-v2", "ckpt_id": "any name"},
        {"to": "pack-v1", "fp4": Fp4.DELTA},
        {"to": "moet2pf", "fp4": Fp4.NONE},
        {"zero_mode": "sign"},
    ],
    ids=["v1 id", "v2 id", "delta", "plane file", "zero mode"],
)
def test_requests_that_may_work(changes: dict[str, Any]) -> None:
    asked = request(**changes)
    check_request(asked)
    source = FakeSource(origin=Origin(V1, ckpt_id="old", zero_mode="alt"))
    assert all(target.bytes_to_write for target in make_targets(asked, source, changes.get("fp4", Fp4.NONE)))


@pytest.mark.parametrize(
    ("to", "server", "is_pack"),
    [
        (Container.PACK_V1, V1, True),
        (Container.PACK_V2, V2, True),
        (Container.CACHE_V1, V1, False),
        (Container.CACHE_V2, V2, False),
    ],
)
def test_containers(to: Container, server: ServerVersion, is_pack: bool) -> None:
    assert (to.server, to.is_pack) == (server, is_pack)
