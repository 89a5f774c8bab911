"""`moet-boot planes skip-forecast`."""

from pathlib import Path
from typing import Annotated

import typer

from moet_boot.cli.options import Paths, Sets, Variant
from moet_boot.cli.output import Output
from moet_boot.exits import Exit
from moet_boot.planes.server_version import ServerVersion
from moet_boot.planes.skip_modes import ContentsMode

app = typer.Typer(add_completion=False)

ModelDir = Annotated[Path | None, typer.Option(readable=False, help="The checkpoint's folder on this machine.")]

Mounts = Annotated[list[str] | None, typer.Option("--map", help="CONTAINER=HOST of a mount; repeatable. None: same.")]
Contents = Annotated[ContentsMode, typer.Option(help="Slots to compare with the checkpoint: none, one a layer, all.")]


@app.command("skip-forecast")
def skip_forecast(
    *,
    profile: Annotated[str | None, typer.Option(help="Take environment, mounts and model from a profile.")] = None,
    variant: Variant = None,
    set_: Sets = None,
    path: Paths = None,
    env: Annotated[list[str] | None, typer.Option(help="KEY=VALUE of the server's environment; repeatable.")] = None,
    model_dir: ModelDir = None,
    served_path: Annotated[str | None, typer.Option(help="The model string exactly as the server gets it.")] = None,
    map_: Mounts = None,
    server: Annotated[ServerVersion | None, typer.Option(help="Whose rules: pull request 16 or the main line.")] = None,
    tp: Annotated[int | None, typer.Option(min=1, max=64, help="Tensor-parallel size.")] = None,
    rank: Annotated[int, typer.Option(min=0, help="Which rank to look at.")] = 0,
    revision: Annotated[str, typer.Option(help="The server's --revision, part of v2 identities.")] = "",
    contents: Contents = ContentsMode.SAMPLE,
    json: Annotated[bool, typer.Option("--json", help="One JSON document; progress as NDJSON on stderr.")] = False,
) -> int:
    """Forecast layer by layer whether the server skips loading experts, from which store, and why not.

    Takes the server's own decisions from files, sizes and identities, then looks for what it does not check:
    short packs, holes, other contents. Says how much host RAM the load will take. Changes nothing.

      moet-boot planes skip-forecast --profile rtx6000-a --path checkpoint=/data/DeepSeek-V4-Flash
      --path planes_cache=/data/planescache --path pack_store=/data/moet_store

      moet-boot planes skip-forecast --server v1 --model-dir DeepSeek-V4-Flash --served-path /model
      --env VLLM_MOE_W2=1 --env VLLM_MOE_W2_DELTA_GB=0 --env VLLM_MOE_W2_PLANES_CACHE=/planescache
      --map /planescache=/data/planescache

    Ends with 0 whatever the forecast is; read `verdict`: hit, partial, miss or boot_abort.
    """
    from moet_boot.cli.planes.progress import stages
    from moet_boot.cli.planes.skip_request import SkipOptions, read_skip_request
    from moet_boot.cli.planes.skip_view import as_document, as_lines
    from moet_boot.planes.loader_skip import forecast
    from moet_boot.planes.skip_contents import check_contents
    from moet_boot.planes.skip_reader import read_skip_facts

    output = Output(json_mode=json)
    options = SkipOptions(
        profile,
        variant,
        set_ or [],
        env or [],
        model_dir,
        served_path,
        map_ or [],
        server,
        tp,
        rank,
        revision,
        path or [],
    )
    request = read_skip_request(options)
    with stages(output) as stage:
        facts, compared = check_contents(read_skip_facts(request), request, contents, stage("contents"))
    found = forecast(facts)
    output.document("skip-forecast", as_document(found, facts, compared))
    if not json:
        output.raw("\n".join(as_lines(found, facts, compared)))
    return Exit.DONE
