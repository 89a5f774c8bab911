import pytest

from moet_boot.profile.diff import Difference, diff_profiles
from tests.profile.shipped import VARIANTS, shipped, with_sets


def differences(*pair: tuple[str, str | None]) -> dict[str, Difference]:
    left, right = (shipped(name, variant) for name, variant in pair)
    return {one.key: one for one in diff_profiles(left, right)}


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_profile_does_not_differ_from_itself(name: str, variant: str | None) -> None:
    assert diff_profiles(shipped(name, variant), shipped(name, variant)) == []


def test_a_variant_differs_in_what_it_changes() -> None:
    found = differences(("rtx6000-b", None), ("rtx6000-b", "mtp"))
    assert set(found) == {
        "flags.--max-num-seqs",
        "flags.--speculative-config",
        "memory.terms.mtp_experts.gib",
        "memory.terms.mtp_experts.pool",
        "memory.terms.mtp_experts.first",
        "memory.terms.mtp_experts.last",
        "acceptance.decode_tokens_per_s.value",
        "acceptance.throughput_tokens_per_s.value",
        "acceptance.throughput_tokens_per_s.unit",
        "sampling.min_p",
        "curves.throughput.points",
    }


def test_both_values_and_both_reasons() -> None:
    one = differences(("rtx6000-b", None), ("rtx6000-b", "mtp"))["flags.--max-num-seqs"]
    assert (one.left, one.right) == ("256", "192")
    assert one.left_why == shipped("rtx6000-b").flags["--max-num-seqs"].why
    assert one.right_why == shipped("rtx6000-b", "mtp").flags["--max-num-seqs"].why


def test_what_only_one_side_says() -> None:
    found = differences(("rtx6000-a", None), ("rtx6000-b", None))
    assert (found["env.VLLM_MOE_W2_STORE_DIR"].left, found["env.VLLM_MOE_W2_STORE_DIR"].right) == ("/store", None)
    swapped = differences(("rtx6000-b", None), ("rtx6000-a", None))
    assert (swapped["env.VLLM_MOE_W2_STORE_DIR"].left, swapped["env.VLLM_MOE_W2_STORE_DIR"].right) == (None, "/store")


def test_absent_is_a_value() -> None:
    found = differences(("rtx6000-b", None), ("rtx6000-b", "mtp"))
    assert found["flags.--speculative-config"].left == "absent"
    assert found["sampling.min_p"].right == "absent"


def test_reasons_alone_make_no_difference() -> None:
    profile = shipped("demo")
    setting = profile.env["DO_NOT_TRACK"].model_copy(update={"why": "another reason", "layer": "flag"})
    other = profile.model_copy(update={"env": {**profile.env, "DO_NOT_TRACK": setting}, "title": "another title"})
    assert diff_profiles(profile, other) == []


def test_settings_on_top_show() -> None:
    (one,) = diff_profiles(shipped("demo"), with_sets("demo", "max-num-seqs=8"))
    assert (one.key, one.left, one.right, one.right_why) == ("flags.--max-num-seqs", "4", "8", "chosen by --set")


def test_a_curve_is_written_as_points() -> None:
    one = differences(("rtx6000-b", None), ("rtx6000-b", "mtp"))["curves.throughput.points"]
    assert one.right == "1:115 8:234 32:442 64:1122 128:858 192:927"
