"""`moet-boot profiles schema`."""

import json

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def schema(as_json: AsJson = False) -> int:
    """Print the JSON Schema of a profile file, for editors and other tools.

    Example: moet-boot profiles schema > profile.schema.json
    """
    from moet_boot.profile.schema import profile_schema

    output = Output(json_mode=as_json)
    output.document("profile-schema", {"json_schema": profile_schema()})
    if not as_json:
        output.raw(json.dumps(profile_schema(), indent=2, ensure_ascii=False))
    return 0
