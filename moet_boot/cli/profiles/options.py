"""Options that several commands of `profiles` share."""

from pathlib import Path
from typing import Annotated

import typer

ProfileName = Annotated[str, typer.Argument(metavar="NAME", help="A shipped profile, or the path of your own.")]
Variant = Annotated[str | None, typer.Option("--variant", help="A variant of the profile, such as mtp.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a variable or flag; an empty VALUE leaves it out."),
]
SnapshotFile = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="A recorded machine instead of this one.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
