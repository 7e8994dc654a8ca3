"""Whatever a client sends, the service answers as its own description says, and never with an error of the server."""

from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.serving.phrases import Phrases
from tests.serving.test_exploring import TRANSFORMER, service_of_models

from dragoman.serving.app import create_app
from dragoman.serving.server import routers_of
from dragoman.serving.settings import ServiceSettings
from dragoman.serving.store import MEMORY, open_store

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("schemathesis"), reason="needs schemathesis: pip install -e '.[service-tests]'"),
]


def routes() -> list[str]:
    """Return all routes of the service that are described."""
    app = create_app(Phrases(), ServiceSettings(), routers=routers_of(open_store(MEMORY)))
    return [f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods]


@pytest.mark.parametrize("kind", ["phrases", "a model"])
@pytest.mark.parametrize("route", routes())
def test_answers_are_as_described(kind: str, route: str) -> None:
    import schemathesis

    if kind == "a model" and "/v1/" not in route:
        pytest.skip("these routes only differ in what they ask of a service")
    service: Any = Phrases() if kind == "phrases" else service_of_models(TRANSFORMER)
    app = create_app(service, ServiceSettings(), routers=routers_of(open_store(MEMORY)))
    method, path = route.split()
    operation = schemathesis.openapi.from_asgi("/openapi.json", app)[path][method]
    checks = schemathesis.checks.CHECKS.get_by_names(CHECKS)

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(operation.as_strategy())
    def answered(case: Any) -> None:
        case.call_and_validate(checks=checks)

    answered()
