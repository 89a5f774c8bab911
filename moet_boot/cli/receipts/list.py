"""`moet-boot receipts list`."""

import typer

from moet_boot.cli.options import AsJson
from moet_boot.cli.output import Output

app = typer.Typer(add_completion=False)


@app.command()
def list_receipts(
    as_json: AsJson = False,
) -> int:
    """List past boots, the newest last.

    Example: moet-boot receipts list
    """
    from moet_boot.cli.receipts.view import listed_row, receipts_table
    from moet_boot.receipts.store import ReceiptStore

    output = Output(json_mode=as_json)
    store = ReceiptStore()
    found = store.list()
    rows = [listed_row(entry) for entry in found]
    output.document("receipts", {"folder": str(store.root), "receipts": rows})
    if found:
        output.data(receipts_table(rows))
    else:
        output.say(f"no boots yet in {store.root}")
    return 0
