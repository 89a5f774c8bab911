"""`moet-boot receipts show`."""

from typing import Annotated

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def show(
    receipt: Annotated[str, typer.Argument(help="An id, the beginning of one, or `last`.")] = "last",
    as_json: AsJson = False,
) -> int:
    """Show one boot: outcome, phases with times and peaks, what the guard did.

    Examples:

      moet-boot receipts show

      moet-boot receipts show 20261129-1524 --json
    """
    from moet_boot.cli.receipts.view import receipt_view
    from moet_boot.receipts.store import ReceiptStore
    from moet_boot.supervise.afterwards import outcome_now, truthful

    output = Output(json_mode=as_json)
    store = ReceiptStore()
    found = truthful(store.read(receipt), store.folder(store.find(receipt)))
    document = found.model_dump(mode="json", by_alias=True)
    document.pop("schema")
    document["outcome"] = outcome_now(found)
    output.document("receipt", document)
    output.data(*receipt_view(found, str(store.folder(found.id))))
    return 0
