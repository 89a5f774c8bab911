import pytest

from moet_boot.errors import UsageError
from moet_boot.profile.resolve import resolve_profile, split_variant


@pytest.mark.parametrize(
    ("reference", "name", "variant"),
    [
        ("spark", "spark", None),
        ("rtx6000-b:mtp", "rtx6000-b", "mtp"),
        ("./mine.toml", "./mine.toml", None),
        ("./mine.toml:mtp", "./mine.toml", "mtp"),
        ("/a:b/mine.toml", "/a:b/mine.toml", None),
        ("a:mine.toml", "a:mine.toml", None),
        ("spark:", "spark", ""),
        (":mtp", ":mtp", None),
    ],
)
def test_a_name_with_its_variant(reference: str, name: str, variant: str | None) -> None:
    assert split_variant(reference) == (name, variant)


def test_everything_together() -> None:
    profile = resolve_profile("rtx6000-b", "mtp", ["max-num-seqs=64"], env={"MOET_BOOT_SET": "port=8001"})
    assert (profile.variant, profile.engine.port, profile.flag("--max-num-seqs")) == ("mtp", 8001, 64)


@pytest.mark.parametrize(
    ("name", "variant", "sets"), [("sprak", None, []), ("spark", "mpt", []), ("spark", None, ["maxx=1"])]
)
def test_mistakes_are_usage_errors(name: str, variant: str | None, sets: list[str]) -> None:
    with pytest.raises(UsageError):
        resolve_profile(name, variant, sets, env={})
