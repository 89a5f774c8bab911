import pytest

from moet_boot.profile.schema import profile_schema
from tests.cli.profiles.commands import profiles


@pytest.mark.parametrize("argv", [[], ["--json"]])
def test_the_schema_is_one_document_either_way(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    said = profiles(capsys, "schema", *argv)
    assert (said.code, said.err) == (0, "")
    assert said.document == profile_schema()
