"""The routes of the page: `/v1/explore` looks into a translation and changes it, `/` shows it."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.exceptions import HTTPException

from dragoman.inference.exploring.computation import Computation
from dragoman.inference.exploring.explorer import Chance, Exploration, Explorer, WhyNot
from dragoman.inference.exploring.interventions import Forced, Interventions
from dragoman.serving.app import service_of
from dragoman.serving.forms import Form
from dragoman.serving.translating import admitted

router = APIRouter()

PAGE = {
    "page.js": "text/javascript",
    "words.js": "text/javascript",
    "views.js": "text/javascript",
    "page.css": "text/css",
}
"""The files of the page beside `page.html`, and their types."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
"""The page runs its own files, asks its own service, and nothing else."""

Result = TypeVar("Result")


class ForcedForm(Form):
    """Weights that are set at one step of the target."""

    step: int = Field(ge=0)
    """The step, from 0."""
    weights: list[tuple[int, float]] = Field(min_length=1)
    """Places of the source, from 0, with their weights."""
    layer: int | None = None
    """From 1; every layer unless given."""
    head: int | None = None
    """From 1; every head unless given."""


class ExploreForm(Form):
    """A sentence, and what is changed in its translation."""

    text: str = Field(max_length=2000)
    target: str | None = None
    """Language to translate into, for models of several."""
    model: str | None = None
    """Name of the model; the first one unless given."""
    prefix: list[int] = Field(default=[], max_length=500)
    """Ids of the tokens with which the translation begins."""
    forced: list[ForcedForm] = Field(default=[])
    off: list[tuple[int | None, int | None]] = Field(default=[])
    """Layers and heads that are off, from 1; null is every one."""
    temperature: float = 1.0
    beam: int | None = Field(default=None, ge=1, le=20)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of an explorer."""
        forced = tuple(Forced(one.step, tuple(one.weights), one.layer, one.head) for one in self.forced)
        changed = Interventions(forced, tuple(self.off), self.temperature)
        beam = {} if self.beam is None else {"beam": self.beam}
        return {"interventions": changed, "to": self.target, **beam}


class WhyNotForm(ExploreForm):
    """A word to ask for after the prefix."""

    word: str = Field(max_length=200)


class ComputationForm(ExploreForm):
    """One layer and head, at the last token of the prefix."""

    layer: int = 1
    head: int = 1


@router.post("/v1/explore")
async def explore(form: ExploreForm, request: Request) -> dict[str, Any]:
    """Translate a sentence, and tell what the search weighed and where each step looked."""
    return await _with_explorer(
        form,
        request,
        lambda explorer: exploration_table(explorer.explore(form.text, prefix=form.prefix, **form.options)),
    )


@router.post("/v1/explore/why-not")
async def why_not(form: WhyNotForm, request: Request) -> dict[str, Any]:
    """Say why a translation does not go on with a word."""
    return await _with_explorer(
        form,
        request,
        lambda explorer: why_not_table(explorer.why_not(form.text, form.word, prefix=form.prefix, **form.options)),
    )


@router.post("/v1/explore/computation")
async def computation(form: ComputationForm, request: Request) -> dict[str, Any]:
    """Show how attention computed the weights of the last token of the prefix."""
    options = {name: value for name, value in form.options.items() if name != "beam"}
    return await _with_explorer(
        form,
        request,
        lambda explorer: computation_table(
            explorer.compute(form.text, form.prefix, layer=form.layer, head=form.head, **options)
        ),
    )


@router.get("/", include_in_schema=False)
async def page() -> Response:
    """Show the page."""
    return _file("page.html", "text/html")


@router.get("/page/{name}", include_in_schema=False)
async def part(name: str) -> Response:
    """Return a file of the page."""
    if name not in PAGE:
        raise HTTPException(404, "the page has no such file")
    return _file(name, PAGE[name])


def exploration_table(found: Exploration) -> dict[str, Any]:
    """Return an exploration as JSON: the tree as lists, weights by layer, head and step."""
    return {
        "text": found.text,
        "log_prob": found.log_prob,
        "score": found.score,
        "source": found.source.pieces,
        "steps": [
            {
                **_chance(step.chosen),
                "entropy": step.entropy,
                "alternatives": [_chance(one) for one in step.alternatives],
            }
            for step in found.steps
        ],
        "tree": [
            [node.parent, node.step, node.token, round(node.log_prob, 4), round(node.score, 4), node.fate]
            for node in found.tree.nodes
        ],
        "pieces": {node.token: found.pieces[node.token] for node in found.tree.nodes},
        "best": found.tree.path(found.tree.best),
        "weights": None if found.reading is None else _rounded(found.reading.weights),
    }


def why_not_table(found: WhyNot) -> dict[str, Any]:
    """Return the answer to "why not this word" as JSON."""
    return {
        "chances": [_chance(one) for one in found.chances],
        "likeliest": [_chance(one) for one in found.likeliest],
        "fate": found.fate,
        "chosen": {"text": found.chosen.text, "score": found.chosen.score, "log_prob": found.chosen.log_prob},
        "forced": {"text": found.forced.text, "score": found.forced.score, "log_prob": found.forced.log_prob},
    }


def computation_table(found: Computation) -> dict[str, Any]:
    """Return a computation as JSON."""
    names = ("query", "projected", "keys", "terms", "scores", "weights", "used", "values", "context")
    kind = {"weights": found.kind.weights, "window": found.kind.window is not None, "hard": found.kind.hard is not None}
    numbers = {name: _rounded(getattr(found, name)) for name in names}
    return {"score": found.score, "formula": found.formula, "kind": kind, "mask": found.mask.tolist(), **numbers}


async def _with_explorer(form: ExploreForm, request: Request, work: Callable[[Explorer], Result]) -> Result:
    """Do something with the explorer of a model, in its turn."""
    async with admitted(request, [form.text], len(form.text)):
        return await service_of(request).compute(form.model, lambda translator: work(Explorer(translator)))


def _chance(one: Chance) -> dict[str, Any]:
    """Return a token and its probability."""
    return {"token": one.token, "piece": one.piece, "log_prob": one.log_prob, "rank": one.rank}


def _rounded(numbers: Any) -> Any:
    """Return a tensor as nested lists, rounded to 5 digits."""
    return (numbers.double() * 1e5).round().div(1e5).tolist()


def _file(name: str, kind: str) -> Response:
    """Return a file of the page with its policy."""
    content = (files("dragoman.serving") / "page" / name).read_bytes()
    headers = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return Response(content, media_type=kind, headers={**headers, "Cache-Control": "no-cache"})
