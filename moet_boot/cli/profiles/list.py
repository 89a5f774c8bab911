"""`moet-boot profiles list`."""

import typer

from moet_boot.cli.options import AsJson, SnapshotFile
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def list_profiles(snapshot: SnapshotFile = None, as_json: AsJson = False) -> int:
    """List the shipped profiles and say which of them fit this machine.

    Examples:

      moet-boot profiles list

      moet-boot profiles list --snapshot machine.json
    """
    from moet_boot.cli.profiles.machine import machine_facts
    from moet_boot.cli.profiles.view import listed_row, profiles_table
    from moet_boot.profile.files import shipped_names
    from moet_boot.profile.fit import fit
    from moet_boot.profile.load import load_profile

    output = Output(json_mode=as_json)
    machine = machine_facts(snapshot)
    profiles = [load_profile(name) for name in shipped_names()]
    rows = [listed_row(profile, fit(profile, machine)) for profile in profiles]
    output.document("profiles", {"profiles": rows})
    output.data(profiles_table(rows))
    return 0
