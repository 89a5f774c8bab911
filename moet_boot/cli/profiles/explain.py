"""`moet-boot profiles explain`."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from moet_boot.cli.options import AsJson, ProfileName, Sets, Variant
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def explain(
    profile: ProfileName,
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="A setting, a table or a dotted key; all if left out.")
    ] = None,
    variant: Variant = None,
    sets: Sets = None,
    as_json: AsJson = False,
) -> int:
    """Say for each setting what it is, why, on whose word, what was measured, and which layer set it.

    Examples:

      moet-boot profiles explain rtx6000-a

      moet-boot profiles explain rtx6000-a VLLM_MOE_W2_DELTA_GB

      moet-boot profiles explain spark memory

      moet-boot profiles explain rtx6000-b max-num-seqs --variant mtp --set max-num-seqs=64
    """
    from moet_boot.cli.profiles.view import explained_view
    from moet_boot.profile.explain import explain as explain_profile
    from moet_boot.profile.resolve import resolve_profile

    output = Output(json_mode=as_json)
    found = resolve_profile(profile, variant, sets or (), env=os.environ)
    decisions = explain_profile(found, key)
    output.document(
        "profile-explain",
        {"profile": found.name, "variant": found.variant, "settings": [asdict(one) for one in decisions]},
    )
    output.data(*explained_view(decisions))
    return 0
