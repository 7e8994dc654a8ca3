"""A service on a port: from the models to the process that answers, until it is told to stop."""

import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI

from dragoman.errors import InputError
from dragoman.serving import exploring, routes
from dragoman.serving.app import create_app
from dragoman.serving.deepl import DeepL
from dragoman.serving.documents import Documents
from dragoman.serving.gate import KeyGate
from dragoman.serving.glossaries import Glossaries
from dragoman.serving.keys import Keys
from dragoman.serving.libretranslate import LibreTranslate
from dragoman.serving.models import Models, Offer
from dragoman.serving.service import TranslationService
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, Store, open_store
from dragoman.serving.workers import Worker

SWITCH_SECONDS = 0.0005
"""How long the thread that answers requests may keep the interpreter from the one that translates, which asks for it after each
operation of torch: with Python's own 5 ms little is translated while many requests are refused."""


def routers_of(store: Store) -> tuple[APIRouter, ...]:
    """Return all routes: Dragoman's own and its page, LibreTranslate's, and DeepL's, whose glossaries are in a store."""
    return (
        routes.router,
        Documents().router(),
        exploring.router,
        LibreTranslate().router(),
        DeepL(Glossaries(store)).router(),
    )


class Server(uvicorn.Server):
    """Ends with code 0 when it is told to stop: what was asked is answered, what comes then is refused."""

    def __init__(self, config: uvicorn.Config, drain: Callable[[], None]) -> None:
        super().__init__(config)
        self.drain = drain

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM stop the server, and nothing else afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop taking calls; a second signal does not wait for those in progress."""
        self.drain()
        self.force_exit = self.should_exit
        self.should_exit = True


def make_service(
    offers: Sequence[Offer], load: Callable[[Offer], Worker], settings: ServiceSettings
) -> TranslationService:
    """Return the service of some models."""
    return TranslationService(Models(offers, load, settings=settings.engine, memory_mb=settings.memory_mb), settings)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. InputError if the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} of {host} cannot be used ({error.strerror or error}); choose another with --port or --host"
        ) from None
    return listener


def is_private(host: str) -> bool:
    """Tell whether only this machine reaches an address.

    >>> is_private("127.0.0.1"), is_private("localhost"), is_private("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def run(
    service: TranslationService, settings: ServiceSettings, listener: socket.socket, *, keys: Store | None = None
) -> None:
    """Answer requests until SIGINT or SIGTERM; then those in progress get `drain_s` seconds to end.

    With a store of `keys`, only callers who have one are answered.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gate = None if keys is None else KeyGate(Keys(keys))
    app = create_app(service, settings, routers=routers_of(keys or open_store(MEMORY)), gate=gate)
    server_of(app, service, settings).run(sockets=[listener])


def server_of(app: FastAPI, service: TranslationService, settings: ServiceSettings) -> Server:
    """Return the server of an application."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=round(settings.drain_s),
        timeout_keep_alive=30,
    )
    return Server(config, service.drain)
