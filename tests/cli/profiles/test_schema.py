import pytest

from moet_boot.profile.schema import profile_schema
from tests.cli.profiles.commands import profiles


def test_an_editor_gets_the_schema_itself(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "schema")
    assert (said.code, said.err) == (0, "")
    assert said.document == profile_schema()


def test_json_is_a_document_of_its_own_kind(capsys: pytest.CaptureFixture[str]) -> None:
    said = profiles(capsys, "schema", "--json")
    assert said.document == {"schema": "moet-boot/profile-schema/v1", "json_schema": profile_schema()}
