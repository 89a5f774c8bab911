import pytest

from moet_boot.supervise.variables import EVERYWHERE, KNOWN, PREFIX, Slip, slips


@pytest.mark.parametrize(
    ("name", "meant"),
    [("PROFIL", "PROFILE"), ("STATEDIR", "STATE_DIR"), ("ACCEPT_RISKS", "ACCEPT_RISK"), ("state_dir", "STATE_DIR")],
)
def test_a_slip_names_what_was_meant(name: str, meant: str) -> None:
    assert slips([PREFIX + name]) == [Slip(PREFIX + name, PREFIX + meant)]


@pytest.mark.parametrize(
    "name",
    [
        *(PREFIX + known for known in KNOWN),
        *(PREFIX + ours for ours in ("LAUNCH", "DEMO_MODEL", "TEST_DOCKER", "ALLOW_SKIPS")),
        "MOET_BOOT_XYZZY",
        "MY_MOET_BOOT_PROFIL",
        "MOETBOOT_PROFILE",
        "PATH",
    ],
)
def test_what_is_known_or_near_nothing_is_no_slip(name: str) -> None:
    assert slips([name]) == []


def test_several_are_told_in_order() -> None:
    assert [slip.meant for slip in slips([PREFIX + "VERIFFY", PREFIX + "CONFIGS"])] == [
        PREFIX + "CONFIG",
        PREFIX + "VERIFY",
    ]


def test_what_every_command_reads_is_known() -> None:
    assert set(EVERYWHERE) < set(KNOWN)
