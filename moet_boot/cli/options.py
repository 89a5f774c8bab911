"""Options that several commands share: one name and one help text each."""

from pathlib import Path
from typing import Annotated

import typer

ProfileName = Annotated[str, typer.Argument(metavar="NAME", help="A shipped profile, or the path of your own.")]
Profile = Annotated[str, typer.Option("--profile", "-p", help="A shipped profile, or the path of your own.")]
Variant = Annotated[str | None, typer.Option("--variant", help="A variant of the profile, such as mtp.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A variable or flag, over the profile; without VALUE it goes."),
]
Paths = Annotated[
    list[str] | None, typer.Option("--path", metavar="ARTEFACT=PATH", help="Where an artefact lies; repeatable.")
]
SnapshotFile = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="A recorded machine instead of this one.")
]
Verify = Annotated[
    str, typer.Option("--verify", help="Slots of the plane file to read: quick, sample, full, fresh, none.")
]
Runtime = Annotated[str | None, typer.Option("--runtime", help="process or docker; else the profile's.")]
Engine = Annotated[str | None, typer.Option("--engine", help="The server program of the process runtime.")]
AcceptedRisks = Annotated[
    list[str] | None, typer.Option("--accept-risk", metavar="ID", help="Let this one refusal through; repeatable.")
]
FailOnWarn = Annotated[bool, typer.Option("--fail-on-warn", help="Exit 4 if the preflight warns.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
AsEvents = Annotated[bool, typer.Option("--json", help="NDJSON events on stderr, one document on stdout.")]
