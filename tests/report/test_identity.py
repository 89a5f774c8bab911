import getpass
import platform
from pathlib import Path

import pytest

from moet_boot.report.identity import own_identity


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "Box7.corp.example")
    monkeypatch.setattr(getpass, "getuser", lambda: "alice")


@pytest.mark.usefixtures("named")
def test_user_and_host_with_and_without_its_domain() -> None:
    identity = own_identity({})
    assert identity.names == {"alice", "Box7.corp.example", "Box7"}
    assert identity.home == str(Path.home())


@pytest.mark.usefixtures("named")
def test_the_names_of_the_environment_count_too() -> None:
    assert own_identity({"HOSTNAME": "inner-host", "USER": "bob"}).names >= {"inner-host", "bob"}


@pytest.mark.parametrize("name", ["root", "nvidia", "Ubuntu", "spark", "demo", "localhost", "ab", ""])
def test_a_name_that_says_nothing_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(platform, "node", lambda: name)
    monkeypatch.setattr(getpass, "getuser", lambda: name)
    assert own_identity({"USER": name, "HOSTNAME": name}).names == frozenset()


@pytest.mark.usefixtures("named")
def test_secrets_are_values_of_variables_that_say_so() -> None:
    env = {
        "HF_TOKEN": "hf_abcdef",
        "MY_API_KEY": "123456",
        "PIN_SECRET": "1234",
        "PATH": "/bin",
        "TOKENIZER": "abcdefg",
    }
    assert own_identity(env).secrets == {"hf_abcdef", "123456"}


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(platform, "node", lambda: "")
    monkeypatch.setattr(Path, "home", homeless)
    identity = own_identity({})
    assert (identity.names, identity.home) == (frozenset(), "")
