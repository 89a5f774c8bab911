"""The check of a server's command line; the cases are also put to the real parser (tests/vllm)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet_boot.engine.flags import ArgumentFault, argument_faults
from moet_boot.profile.vllm_flags import server_flags
from tests.engine.argument_cases import PROFILE_B, REFUSED, TAKEN


@pytest.mark.parametrize("argv", TAKEN.values(), ids=TAKEN.keys())
def test_what_the_server_takes_is_no_fault(argv: tuple[str, ...]) -> None:
    assert argument_faults(argv) == []


@pytest.mark.parametrize(("argv", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_the_server_refuses_is_named(argv: tuple[str, ...], words: str) -> None:
    faults = argument_faults(argv)
    assert faults[0].words.startswith(words)


def test_every_fault_is_reported() -> None:
    faults = argument_faults(("m", "--no-such-flag", "--port", "x", "--kv-cache-dtype", "fp7"))
    assert [fault.argument for fault in faults] == ["--no-such-flag", "--port x", "--kv-cache-dtype fp7"]


def test_words_of_a_fault() -> None:
    assert ArgumentFault("--a", "is wrong").words == "--a: is wrong"
    assert ArgumentFault("--a", "is wrong", "--b").words == "--a: is wrong, did you mean --b?"


@given(st.lists(st.text(max_size=20) | st.sampled_from(sorted(server_flags())), max_size=6))
def test_no_command_line_breaks_the_check(argv: list[str]) -> None:
    for fault in argument_faults(argv):
        assert fault.words


@given(st.sampled_from(sorted(server_flags())))
def test_every_flag_of_the_catalogue_is_known(name: str) -> None:
    assert not any("no such flag" in fault.problem for fault in argument_faults([name]))


@pytest.mark.parametrize(
    ("version", "flag", "known"),
    [
        ("0.24.0", "--calculate-kv-scales", True),
        ("0.24.7", "--calculate-kv-scales", True),
        ("0.32.0", "--calculate-kv-scales", False),
        (None, "--calculate-kv-scales", False),
        ("0.11.0", "--calculate-kv-scales", False),
        ("0.24.0", "--watermark-config={}", False),
        ("0.32.1", "--watermark-config={}", True),
    ],
)
def test_a_release_line_is_judged_by_its_own_parser(version: str | None, flag: str, known: bool) -> None:
    assert (argument_faults([flag], version) == []) is known


@pytest.mark.parametrize("version", ["0.24.0", "0.32.0"])
def test_the_published_configuration_is_taken_by_every_version(version: str) -> None:
    assert argument_faults(PROFILE_B, version) == []
