"""`dragoman serve`."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Literal

import typer

from dragoman.cli.console import note
from dragoman.cli.options import Device, GlossaryFiles
from dragoman.errors import InputError, shell_path


def serve(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="A run or an export; RUN+RUN are runs that translate as an ensemble."),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on: 127.0.0.1 for this machine alone, 0.0.0.0 for others too.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 5000,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting of the service (docs/serve.md); may be repeated."
        ),
    ] = None,
    engine: Annotated[
        Literal["auto", "torch", "ctranslate2"],
        typer.Option(help="Inference engine of runs; only torch shows attention, alignments and confidence."),
    ] = "torch",
    device: Device = "auto",
    glossary: GlossaryFiles = None,
    keys: Annotated[
        str | None,
        typer.Option(
            metavar="STORE", help="Require API keys, which `dragoman keys add STORE` makes. [default: no keys]"
        ),
    ] = None,
) -> None:
    """Translate for other programs over HTTP.

    Requests from many callers are translated together. Several runs can be served at once; each is loaded when it is first
    needed.

    Ctrl-C or SIGTERM stops the service once the requests in progress are answered.
    """
    missing = [name for name in ("fastapi", "uvicorn", "python-multipart") if find_spec(name.replace("-", "_")) is None]
    if missing:
        raise InputError(
            f"a service needs {', '.join(missing)}, which this Python does not have; install what it needs with "
            '`pip install "dragoman[serve]"`'
        )
    from dragoman.serving.models import check_glossaries, loader, read_offers
    from dragoman.serving.server import listen, make_service, run
    from dragoman.serving.settings import ServiceSettings
    from dragoman.serving.store import open_store
    from dragoman.settings import override, parse

    chosen = parse(ServiceSettings, override({}, settings or []), "the service")
    offers = read_offers(runs, engine="torch" if glossary and engine == "auto" else engine, device=device)
    terms = {} if not glossary else {"glossary": check_glossaries(glossary, offers, engine=engine)}
    service = make_service(offers, loader(engine=engine, device=device, **terms), chosen)
    remarks = [*(f"{one.name} translates {one.directions}" for one in offers), *_remarks(host, keys)]
    store = open_store(keys) if keys else None
    listener = listen(host, port)
    address, bound = listener.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    for remark in remarks:
        note(remark)
    note(f"Serving on http://{shown}:{bound} (interface: http://{shown}:{bound}/docs; Ctrl-C ends)")
    run(service, chosen, listener, keys=store)


def _remarks(host: str, keys: str | None) -> Iterator[str]:
    """Yield what there is to say about who can translate."""
    from dragoman.serving.server import is_private
    from dragoman.serving.store import exists

    if keys is None and not is_private(host):
        yield "Everybody who reaches this address can translate; keep it behind a firewall or a proxy with keys."
    if keys is not None and not exists(keys):
        command = f"dragoman keys add {shell_path(keys)} NAME"
        yield f"There is no file {keys} yet, so nobody can translate: make a key with `{command}`."
