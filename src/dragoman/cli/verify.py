"""`dragoman verify`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced, note
from dragoman.cli.options import JsonObject


def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder, or an export.")], as_json: JsonObject = False
) -> None:
    """Compare every file of a run with its checksum.

    The exit code is 1 if a file is damaged or missing.
    """
    with announced("Reading the files"):
        from dragoman.jobs.verify import BAD, verify

        found = verify(run)
    bad = [one for one in found if one.state in BAD]
    if as_json:
        print(json.dumps({"intact": not bad, "files": [asdict(one) for one in found]}, ensure_ascii=False))
    else:
        for one in found:
            print(f"{one.state:<8}{one.path}{f'  ({one.reason})' if one.reason else ''}")
        note(f"{len(found)} files compared, {len(bad)} damaged or missing.")
    if bad:
        raise typer.Exit(1)
