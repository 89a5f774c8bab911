import pytest

from moet_boot.supervise.variables import EVERYWHERE, KNOWN, PREFIX, Slip, slips, tells_of_a_service


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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("SERVICE_HOST", "10.0.0.1"),
        ("SERVICE_PORT", "8000"),
        ("SERVICE_PORT_HTTP", "8000"),
        ("PORT", "tcp://10.0.0.1:8000"),
        ("PORT_8000_TCP", "tcp://10.0.0.1:8000"),
        ("PORT_8000_TCP_PROTO", "tcp"),
        ("PORT_8000_TCP_PORT", "8000"),
        ("PORT_8000_TCP_ADDR", "10.0.0.1"),
        ("SPARK_SERVICE_HOST", "10.0.0.1"),
        ("SPARK_PORT", "udp://10.0.0.1:8000"),
    ],
)
def test_what_an_orchestrator_writes_is_no_setting(name: str, text: str) -> None:
    assert tells_of_a_service(PREFIX + name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PORT", "8000"),
        ("ENDPOINTS_PORT", "0"),
        ("SERVICE", "x"),
        ("PORT_X_TCP", "1"),
        *((known, "1") for known in KNOWN),
    ],
)
def test_what_a_person_writes_is_one(name: str, text: str) -> None:
    assert not tells_of_a_service(PREFIX + name, text)
