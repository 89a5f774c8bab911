"""`moet-boot profiles show`."""

import os

import typer

from moet_boot.cli.options import AsJson, ProfileName, Sets, Variant
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def show(profile: ProfileName, variant: Variant = None, sets: Sets = None, as_json: AsJson = False) -> int:
    """Print a profile as it would be used: variant, config file, environment and --set applied, as TOML.

    What it prints is a complete profile file: save it, edit it, and use its path wherever a name goes.

    Examples:

      moet-boot profiles show spark

      moet-boot profiles show rtx6000-b --variant mtp --set max-num-seqs=64 > mine.toml
    """
    from moet_boot.profile.resolve import resolve_profile
    from moet_boot.profile.toml_text import to_toml

    output = Output(json_mode=as_json)
    found = resolve_profile(profile, variant, sets or (), env=os.environ)
    document = found.model_dump(mode="json", by_alias=True)
    document.pop("schema")
    output.document("profile", document)
    if not as_json:
        output.raw(to_toml(found))
    return 0
