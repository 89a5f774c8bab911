import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.errors import UsageError
from moet_boot.profile.fit import GpuFacts, MachineFacts
from moet_boot.profile.load import load_profile
from moet_boot.profile.overrides import apply_overrides
from moet_boot.profile.recommend import Recommendation, published_profiles, recommend

GIB = 1 << 30
PROFILES = published_profiles()
CARD = GpuFacts("NVIDIA RTX PRO 6000 Blackwell", "12.0", 102_641_958_912)
WORKSTATION = MachineFacts("x86_64", 64 * GIB, (CARD,))
SPARK = MachineFacts("aarch64", 120 * GIB, (GpuFacts("NVIDIA GB10", "12.1", None),))


def ask(streams: int, context: int = 32768, machine: MachineFacts | None = None) -> Recommendation:
    return recommend(streams, context, PROFILES, machine)


def test_every_profile_with_a_published_speed_takes_part() -> None:
    assert {f"{p.name}/{p.variant}" for p in PROFILES} == {
        "rtx6000-a/None",
        "rtx6000-b/None",
        "rtx6000-b/mtp",
        "spark/None",
        "spark/mtp",
    }


@pytest.mark.parametrize(
    ("streams", "choice", "speed", "basis"),
    [
        (1, "rtx6000-b/mtp", 115, "measured"),
        (8, "rtx6000-b/mtp", 234, "measured"),
        (32, "rtx6000-b/plain", 513, "measured"),
        (64, "rtx6000-b/mtp", 1122, "measured"),
        (96, "rtx6000-b/plain", 1097, "measured"),
        (128, "rtx6000-b/plain", 1368, "measured"),
        (192, "rtx6000-b/plain", 1748, "measured"),
        (256, "rtx6000-b/plain", 2085, "measured"),
        (2, "rtx6000-b/mtp", 132, "interpolated"),
        (48, "rtx6000-b/mtp", 782, "interpolated"),
        (112, "rtx6000-b/plain", 1232.5, "interpolated"),
        (257, "rtx6000-b/plain", 2085, "beyond"),
    ],
)
def test_the_published_table_decides(streams: int, choice: str, speed: float, basis: str) -> None:
    found = ask(streams)
    assert (found.choice.name, found.choice.speed.basis) == (choice, basis)
    assert found.choice.speed.value == pytest.approx(speed)


@pytest.mark.parametrize("streams", range(96, 257, 16))
def test_from_96_streams_up_speculation_is_off(streams: int) -> None:
    assert ask(streams).choice.profile.variant is None


def test_what_was_interpolated_is_said_with_its_points() -> None:
    assert ask(48).because == (
        "rtx6000-b/mtp: 782 tok/s (interpolated between 442 at 32 and 1122 at 64) "
        "against rtx6000-b/plain: 632 tok/s (interpolated between 513 at 32 and 752 at 64)"
    )


def test_the_figures_of_the_others_are_given() -> None:
    assert [(option.name, option.speed.value) for option in ask(64).others] == [("rtx6000-b/plain", 752)]


@pytest.mark.parametrize("context", [32769, 65536, 262144])
def test_one_stream_with_a_long_context_is_for_the_profile_that_was_measured_so(context: int) -> None:
    found = ask(1, context)
    assert (found.choice.name, found.choice.sets) == ("rtx6000-a/plain", ())
    assert "published with a window of 262,144 tokens" in found.because


def test_several_streams_with_a_long_context_need_a_longer_window() -> None:
    found = ask(8, 65536)
    assert found.choice.sets == ("max-model-len=65536",)
    assert any("measured with a window of 32,768 tokens, not of 65,536" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (262145, "needles found at 262,145 tokens: 90 % (interpolated between 90 at 262144 and 75 at 294912)"),
        (294912, "needles found at 294,912 tokens: 75 % (measured)"),
        (300000, "nothing was measured at 300,000 tokens (the last: 75% of needles at 294,912)"),
        (1048576, "nothing was measured at 1,048,576 tokens"),
    ],
)
def test_beyond_256k_retrieval_is_warned_about(context: int, said: str) -> None:
    found = ask(1, context)
    assert found.choice.profile.name == "rtx6000-b", "the pool's fires make it worse there"
    assert any(said in warning for warning in found.warnings)


@pytest.mark.parametrize("context", [1, 32768, 262144])
def test_up_to_256k_it_is_not(context: int) -> None:
    assert not any("needles" in warning or "retrieval is" in warning for warning in ask(1, context).warnings)


def test_more_context_than_ever_booted() -> None:
    with pytest.raises(UsageError, match=r"boots with 2,000,000 tokens") as caught:
        ask(1, 2_000_000)
    assert caught.value.fix == "the most is 1,048,576"


@pytest.mark.parametrize(("streams", "context"), [(0, 1), (-1, 1), (1, 0), (1, -5)])
def test_numbers_that_mean_nothing(streams: int, context: int) -> None:
    with pytest.raises(UsageError, match="expected at least 1"):
        ask(streams, context)


def test_more_streams_than_were_measured_wait() -> None:
    assert any("300 streams are more than were measured" in warning for warning in ask(300).warnings)


def test_more_cache_than_there_is_room_for_is_said() -> None:
    assert any("256 streams of 32,768 tokens want 14.40 GiB of KV cache" in warning for warning in ask(256).warnings)
    assert not any("KV cache" in warning for warning in ask(64).warnings)


def test_both_published_views_on_bare_experts_are_told() -> None:
    assert any("unsupported for serving quality" in warning for warning in ask(64).warnings)
    assert not any("unsupported" in warning for warning in ask(1, 262144).warnings)


def test_with_speculation_min_p_is_gone() -> None:
    assert any("min_p" in warning for warning in ask(64).warnings)
    assert not any("min_p" in warning for warning in ask(96).warnings)


@pytest.mark.parametrize("streams", [1, 64, 128])
def test_a_machine_with_the_card_gets_the_same_answer(streams: int) -> None:
    assert ask(streams, machine=WORKSTATION) == ask(streams)


def test_a_spark_gets_its_own_profile_and_is_told_what_is_not_published() -> None:
    found = ask(1, machine=SPARK)
    assert found.choice.name == "spark/mtp"
    assert [option.name for option in found.others] == ["spark/plain"]
    assert any("how the image switches mtp on is not published" in warning for warning in found.warnings)


def test_a_spark_was_measured_with_one_stream_only() -> None:
    assert any("4 streams are more than were measured" in warning for warning in ask(4, machine=SPARK).warnings)


def test_a_sparks_window() -> None:
    assert ask(1, 65536, SPARK).choice.as_published
    with pytest.raises(UsageError, match="no published configuration for this hardware"):
        ask(1, 65537, SPARK)


def test_a_machine_that_none_of_them_is_for() -> None:
    with pytest.raises(UsageError, match="no published configuration is for this machine") as caught:
        ask(1, machine=MachineFacts("x86_64", 16 * GIB, ()))
    assert "spark needs aarch64" in caught.value.what


@given(streams=st.integers(1, 400), context=st.integers(1, 1_048_576))
def test_what_is_recommended_can_be_asked_for(streams: int, context: int) -> None:
    choice = ask(streams, context).choice
    words = list(choice.arguments)
    profile = apply_overrides(load_profile(words[1], choice.profile.variant), choice.sets)
    window = profile.flag("--max-model-len")
    assert isinstance(window, int)
    assert window >= context
    assert ask(streams, context).because
