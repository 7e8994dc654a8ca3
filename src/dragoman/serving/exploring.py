"""The routes of the page: `/v1/explore` looks into a translation and changes it, `/` shows it."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field
from starlette.exceptions import HTTPException

from dragoman.errors import InputError
from dragoman.inference.confidence.assessor import Assessment
from dragoman.inference.exploring.computation import Computation
from dragoman.inference.exploring.explorer import Chance, Exploration, Explorer, WhyNot
from dragoman.inference.exploring.interventions import Forced, Interventions
from dragoman.inference.translation import UsedTerm
from dragoman.inspection.page import attention_page
from dragoman.inspection.picture import AttentionPicture
from dragoman.serving.app import service_of, settings_of
from dragoman.serving.forms import REFUSED, Form
from dragoman.serving.interface import TooLargeError
from dragoman.serving.translating import admitted, check_size
from dragoman.serving.workers import TorchWorker
from dragoman.text.frames import Between

router = APIRouter()

PAGE = {
    **{
        f"{name}.js": "text/javascript"
        for name in ("drag", "elements", "page", "panel", "service", "state", "theme", "views", "words")
    },
    "page.css": "text/css",
}
"""The files of the page beside `page.html`, and their types."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
"""The page runs its own files, asks its own service, and nothing else."""

MOST_CHARACTERS = 500
"""The longest sentence that is looked into, as on the page: what each step predicts and attends to is kept."""

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


class SentenceForm(Form):
    """A sentence, its languages, and a model."""

    text: str = Field(max_length=MOST_CHARACTERS)
    source: str | None = None
    """Language of the sentence, for models that must know it."""
    target: str | None = None
    """Language to translate into, for models of several."""
    model: str | None = None
    """Name of the model; the first one unless given."""

    @property
    def between(self) -> str | Between | None:
        """The languages as translators take them."""
        return Between(self.source, self.target) if self.source else self.target


class ExploreForm(SentenceForm):
    """A sentence, and what is changed in its translation."""

    prefix: list[int] = Field(default=[], max_length=500)
    """Ids of the tokens with which the translation begins."""
    forced: list[ForcedForm] = Field(default=[])
    off: list[tuple[int | None, int | None]] = Field(default=[])
    """Layers and heads that are off, from 1; null is every one."""
    temperature: float = 1.0
    beam: int | None = Field(default=None, ge=1)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of an explorer."""
        forced = tuple(Forced(one.step, tuple(one.weights), one.layer, one.head) for one in self.forced)
        changed = Interventions(forced, tuple(self.off), self.temperature)
        beam = {} if self.beam is None else {"beam": self.beam}
        return {"interventions": changed, "to": self.between, **beam}


class WhyNotForm(ExploreForm):
    """A word to ask for after the prefix."""

    word: str = Field(max_length=200)
    chosen: list[int] = Field(default=[], max_length=500)
    """Ids of the tokens of the translation that is compared, </s> last; the best that begins with the prefix unless given."""


class ComputationForm(ExploreForm):
    """One layer and head, at the last token of the prefix."""

    layer: int = 1
    head: int = 1


class SaveForm(ExploreForm):
    """What is written to a page of its own."""

    beside: str | None = None
    """Name of a second model, of which nothing is changed but beam and temperature."""

    @property
    def forms(self) -> tuple[ExploreForm, ...]:
        """What is asked of each model."""
        alone: dict[str, Any] = {"model": self.beside, "prefix": [], "forced": [], "off": []}
        return (self,) if self.beside is None else (self, self.model_copy(update=alone))

    @property
    def changes(self) -> str:
        """Name what is changed in the translation, as a title does."""
        changed = {
            "its first words are given": self.prefix,
            "attention is forced": self.forced,
            "heads are off": self.off,
            f"temperature {self.temperature:g}": self.temperature != 1,
        }
        named = ", ".join(name for name, one in changed.items() if one)
        return f" ({named})" if named else ""


class AssessForm(SentenceForm):
    """A sentence, and a translation of it, whoever made it."""

    translation: str = Field(max_length=4000)


@router.post("/v1/explore", responses=REFUSED)
async def explore(form: ExploreForm, request: Request) -> dict[str, Any]:
    """Translate a sentence, and tell what the search weighed and where each step looked."""
    return await _with_explorer(form, request, lambda explorer: exploration_table(*explored(form, explorer)))


@router.post("/v1/explore/assess", responses=REFUSED)
async def assess(form: AssessForm, request: Request) -> dict[str, Any]:
    """Tell how far a translation can be trusted: alarms, and confidence where the run has a calibration."""

    def work(worker: TorchWorker) -> dict[str, Any]:
        (found,) = worker.assessor.assess([form.text], [form.translation], to=form.between)
        return assessment_table(found)

    return await _with_worker(form, request, work)


@router.post("/v1/explore/save", response_class=Response, responses={**REFUSED, 200: {"content": {"text/html": {}}}})
async def save(form: SaveForm, request: Request) -> Response:
    """Return the attention as one file that needs nothing else, the page that `dragoman attend` writes."""
    async with _admitted(form, request):
        service = service_of(request)
        pictures = [await service.compute(one.model, _exploring(partial(_picture, one, form))) for one in form.forms]
    headers = {"Content-Disposition": 'attachment; filename="attention.html"', "X-Content-Type-Options": "nosniff"}
    return HTMLResponse(attention_page(pictures), headers=headers)


@router.post("/v1/explore/why-not", responses=REFUSED)
async def why_not(form: WhyNotForm, request: Request) -> dict[str, Any]:
    """Say why a translation does not go on with a word."""
    options = {"prefix": form.prefix, "chosen": form.chosen, **form.options}
    return await _with_explorer(
        form, request, lambda explorer: why_not_table(explorer.why_not(form.text, form.word, **options))
    )


@router.post("/v1/explore/computation", responses=REFUSED)
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


def exploration_table(found: Exploration, terms: Sequence[UsedTerm] = ()) -> dict[str, Any]:
    """Return an exploration as JSON: the tree as lists, weights by layer, head and step, and terms of the glossary."""
    return {
        "text": found.text,
        "log_prob": found.log_prob,
        "score": found.score,
        "beam": found.beam,
        "source": found.source.pieces,
        "words": found.target.words,
        "owners": found.target.owners,
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
        "terms": [asdict(one) for one in terms],
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


def assessment_table(found: Assessment) -> dict[str, Any]:
    """Return an assessment as JSON: a probability for each word, and alarms with the words that they mean."""
    return {
        "confidence": found.confidence,
        "words": [share for _, share in found.words],
        "alarms": [{"name": one.name, "words": one.words, "places": one.places} for one in found.alarms],
    }


@asynccontextmanager
async def _admitted(form: SentenceForm, request: Request) -> AsyncIterator[None]:
    """Let a request within the limits of the service pass, and count its sentence: once, and only if it is translated."""
    settings = settings_of(request)
    characters = check_size([form.text], settings)
    if isinstance(form, ExploreForm) and (form.beam or 1) > settings.max_n_best:
        raise TooLargeError(
            f"a beam of {form.beam} is too large; ask for at most {settings.max_n_best}",
            size=form.beam or 1,
            limit=settings.max_n_best,
        )
    counted = 0 if isinstance(form, AssessForm | ComputationForm) else characters
    async with admitted(request, [form.text], counted):
        yield


async def _with_worker(form: SentenceForm, request: Request, work: Callable[[TorchWorker], Result]) -> Result:
    """Do something with a model, in its turn."""
    async with _admitted(form, request):
        return await service_of(request).compute(form.model, work)


async def _with_explorer(form: ExploreForm, request: Request, work: Callable[[Explorer], Result]) -> Result:
    """Do something with the explorer of a model, in its turn."""
    return await _with_worker(form, request, _exploring(work))


def _exploring(work: Callable[[Explorer], Result]) -> Callable[[TorchWorker], Result]:
    """Return what does something with the explorer of a model."""
    return lambda worker: work(Explorer(worker.translator))


def explored(form: ExploreForm, explorer: Explorer) -> tuple[Exploration, tuple[UsedTerm, ...]]:
    """Explore what is asked for; where nothing is changed, with the terms of the glossary, and say what became of them."""
    options, prefix = form.options, form.prefix
    terms: tuple[UsedTerm, ...] = ()
    if not prefix and options["interventions"] == Interventions():
        prefix, terms = explorer.require_terms(
            form.text, **{name: one for name, one in options.items() if name != "interventions"}
        )
    return explorer.explore(form.text, prefix=prefix, **options), terms


def _picture(form: ExploreForm, asked: SaveForm, explorer: Explorer) -> AttentionPicture:
    """Return the attention behind one translation, with a title that names its model and what was changed."""
    found, _ = explored(form, explorer)
    if found.reading is None:
        raise InputError("this model has no attention over the source to save; choose a run whose model has one")
    if not found.target.words:
        raise InputError("the translation is empty, so there is nothing to save; change the sentence")
    name = f"{form.model}: " if form.model and asked.beside else ""
    return found.reading.picture(f"{name}{form.text}  →  {found.text}{asked.changes if form is asked else ''}")


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
