"""`dragoman keys`: add, list and revoke the API keys of a service."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.console import note
from dragoman.cli.options import JsonObject
from dragoman.errors import InputError, shorten

if TYPE_CHECKING:
    from dragoman.serving.keys import Keys

keys = typer.Typer(
    help="Manage the API keys of a service.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Place = Annotated[
    str,
    typer.Argument(metavar="STORE", help="SQLite file, or the postgresql:// address of a database that servers share."),
]


@keys.command()
def add(
    store: Place,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.")],
    rate: Annotated[int | None, typer.Option(min=1, help="Maximum requests per minute. [default: no limit]")] = None,
    quota: Annotated[int | None, typer.Option(min=0, help="Maximum characters per month. [default: no limit]")] = None,
) -> None:
    """Add a key and print it, once.

    Only its hash is stored, so it cannot be shown again.
    """
    with _opened(store, new=True) as found:
        print(found.add(name, rate=rate, quota=quota))
    note("Keep this key: it cannot be shown again.")


@keys.command("list")
def list_(store: Place, as_json: JsonObject = False) -> None:
    """List all keys, and how much of each was used this month."""
    with _opened(store) as opened:
        found = opened.all()
    if as_json:
        print(json.dumps({"keys": [asdict(one) for one in found]}, ensure_ascii=False))
        return
    for one in found:
        limits = (
            f"{one.rate or 'any'}/minute",
            f"{one.characters} of {'any' if one.quota is None else one.quota} characters",
        )
        made = datetime.fromtimestamp(one.created, UTC).strftime("%Y-%m-%d")
        print("\t".join([one.identifier, one.name, *limits, made, "revoked" if one.revoked else "in use"]))
    note(
        f"Keys in use: {sum(one.revoked is None for one in found)}, revoked: {sum(one.revoked is not None for one in found)}."
    )


@keys.command()
def revoke(
    store: Place, name: Annotated[str, typer.Argument(metavar="NAME", help="Name or identifier of the key.")]
) -> None:
    """Revoke a key; servers refuse it from the next request on."""
    with _opened(store) as found:
        count = found.revoke(name)
    if not count:
        raise InputError(f"there is no key in use called `{shorten(name)}`; see `dragoman keys list`")
    note(f"{count} key revoked.")


@contextmanager
def _opened(place: str, *, new: bool = False) -> Iterator["Keys"]:
    """Give the keys of a store. InputError for a file that is not there, unless it may be `new`."""
    from dragoman.serving.keys import Keys
    from dragoman.serving.store import exists, open_store

    if not new and not exists(place):
        raise InputError(f"there is no file {place}; add a key first, with `dragoman keys add`")
    store = open_store(place)
    try:
        yield Keys(store)
    finally:
        store.close()
