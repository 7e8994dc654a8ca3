"""Adaptation: train a run on with pairs of a domain, without forgetting what it could do before."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from dragoman.data.checksums import Checksums
from dragoman.data.corpus import Pair, corpus_files
from dragoman.data.ledger import record
from dragoman.data.settings import DataSettings
from dragoman.errors import InputError, RunError, SettingsError
from dragoman.inference.checks import refuse_documents
from dragoman.inference.translation import Translation
from dragoman.jobs.checks import check_recipe, check_rerank
from dragoman.jobs.grow import remark
from dragoman.jobs.interpolation import interpolate
from dragoman.jobs.mixing import (
    FOLDER,
    General,
    Mixer,
    Mixture,
    directions_of,
    files_of,
    general_of,
    in_folder,
    measured,
    pairs_of,
    section_of,
)
from dragoman.jobs.suiting import adapted_rate
from dragoman.jobs.train import fit
from dragoman.jobs.translate_corpus import (
    ORIGIN,
    CorpusTranslation,
    Report,
    best_translator,
    check_lengths,
    check_run_to_be,
    count,
    kept_of,
    remember,
    translate_corpora,
)
from dragoman.json_files import load_json
from dragoman.layers.adapters import Adapters
from dragoman.machine.processes import for_one_process
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import GROWN, ORIGINAL, Run, new_run, open_run
from dragoman.runs.lock import run_lock
from dragoman.runs.recipe import Recipe, overridden
from dragoman.runs.warm_start import check_rows, codecs_for
from dragoman.settings import override, parse
from dragoman.training.contracts import Listener
from dragoman.training.progress import Progress
from dragoman.training.reports import Silent

MethodName = Literal["full", "frozen-embeddings", "adapters"]
"""What is trained: all weights, all but token embeddings, or low-rank adapters."""

KEPT = ("batch_tokens", "clip", "label_smoothing", "objective", "padding", "precision", "recurrence", "save_minutes")
"""Settings of the base's training that an adaptation takes over; it has its own budget, optimiser, schedule and dev metric."""
MINUTES = 30.0
"""Default time of training."""
PASSES = 10
"""Maximum number of passes over the pairs of the domain."""
PATIENCE = 5
"""Validations without improvement, two in each pass over the domain, after which training stops."""
LEAST_SHARE, LARGEST_SHARE = 0.75, 0.9
"""Bounds of the default share of general pairs that come from a corpus."""
DOMAIN_PASSES = 5
"""Passes over the domain that the default share leaves time for."""
TRANSLATIONS_SHARE = 0.5
"""Default share of translations by the base, which is most often large and slow to train."""


@dataclass(frozen=True)
class AdaptationSettings:
    """How a run is adapted."""

    minutes: float | None = None
    """Time of training, which may end earlier; by default MINUTES, or as before for an adaptation that is resumed."""
    method: MethodName = "full"
    mix: float | None = None
    """Share of general pairs among those trained on; with 0 nothing is done against forgetting, None leaves it to `_share`."""
    general: Path | None = None
    """Folder with general dev.SOURCE and dev.TARGET, and perhaps train and test; by default the base's own corpora."""
    assignments: Sequence[str] = ()
    """Settings of the recipe that differ, such as `training.learning_rate=1e-4`."""

    def __post_init__(self) -> None:
        """Raise SettingsError for numbers out of range."""
        if self.mix is not None and not 0 <= self.mix <= 0.9:
            raise SettingsError(f"`mix` is {self.mix}, but it must be a share from 0 to 0.9")
        if self.minutes is not None and not (isfinite(self.minutes) and self.minutes > 0):
            raise SettingsError(f"`minutes` is {self.minutes}, but it must be a number above 0")


@for_one_process
def adapt(
    run: Path,
    data: Path,
    out: Path,
    *,
    settings: AdaptationSettings | None = None,
    resume: bool = False,
    listener: Listener | None = None,
    report: Report | None = None,
) -> Progress:
    """Train the run `run` on into the run `out` with the pairs in the folder `data`; `jobs/verdict.py::judge` compares both.

    `data` holds train.SOURCE and train.TARGET, dev.SOURCE and dev.TARGET, and perhaps test. General pairs are mixed in so that
    the run does not forget (Chu et al. 2017, mixed fine-tuning): of the base's own corpora, if their files are unchanged, or
    else its own translations of the domain's sources (Dakwale and Monz 2017). The best weights are those of the smallest loss
    on as many dev sentences of the domain as general ones; at the end `interpolate` takes back what would be forgotten, unless
    `mix` is 0. Everything is checked before anything is translated; `resume` continues translation and training.
    """
    chosen, listener = settings or AdaptationSettings(), listener or Silent()
    base = _opened(run, chosen)
    _check_base(base)
    domain = in_folder(base, data)
    general = general_of(base, chosen.general)
    if chosen.minutes is None:
        chosen = replace(chosen, minutes=_minutes_before(out) if resume else MINUTES)
    mixture = Mixture.load(out / FOLDER) if resume else None
    share = _share(base, general, size := measured(base, domain), chosen=chosen, mixed=mixture)
    first = adapted_recipe(base, Mixture(section_of(domain), 1, 1.0, "dev"), chosen)
    _check_fit(base, first.data)
    with run_lock(out):
        check_run_to_be(out, FOLDER, "texts", resume=resume)
        _check_model(out, first, base)
        place, begun = out / FOLDER, resume and (out / "manifest.json").exists()
        read = [*files_of(domain, "train", "dev", "test"), *general.files]
        about = _origin(base, read, chosen.method, share=share)
        remember(place / ORIGIN, about | {"minutes": first.training.minutes}, resume=resume)
        record(out, [place / ORIGIN])
        if mixture is None:
            if (unknown := remark(base, pairs_of(domain, "train"), corpus_files(domain.train[0], domain))) is not None:
                listener.say(unknown)
            translate = partial(_translate, base, out, device=first.training.device, listener=listener, report=report)
            mixture = _mixed(Mixer(base, place, share, size), domain, general, translate=translate, say=listener.say)
        recipe = adapted_recipe(base, mixture, chosen)
    progress = fit(recipe, out, resume=begun, listener=listener, about={"adapted": about})
    if progress.finished and share:
        interpolate(out, say=listener.say)
    return progress


def _mixed(
    mixer: Mixer,
    domain: DataSettings,
    general: General,
    *,
    translate: Callable[[Sequence[CorpusTranslation]], object],
    say: Callable[[str], object],
) -> Mixture:
    """Write the texts of an adaptation, with translations by the base if there is no general text."""
    mixture, translations = mixer.mix(domain, general)
    if translations:
        say(
            "The corpus of the base is not here: so that it forgets nothing, the base translates sentences of the domain."
        )
        translate(translations)
        mixture = mixture.without_empty()
    elif mixer.share and general.train is None and GROWN in mixer.run.manifest:
        say(
            "Nothing is mixed in, because the base cannot translate into or from its new languages yet; --general gives general "
            "text of your own."
        )
    if general.held is None:
        say("There is no general dev set, so only that of the domain chooses the best weights.")
    mixture.save(mixer.place)
    return mixture


def _minutes_before(out: Path) -> float:
    """Return the time of training that an adaptation was given before it was stopped, perhaps before it trained."""
    if (out / "manifest.json").exists():
        return open_run(out).recipe.training.minutes or MINUTES
    with suppress(OSError, ValueError, TypeError, LookupError):
        return float(load_json(out / FOLDER / ORIGIN)["minutes"])
    return MINUTES


def _share(
    base: Run, general: General, size: tuple[int, float], *, chosen: AdaptationSettings, mixed: Mixture | None
) -> float:
    """Return the share of general pairs: that which was asked for, that of texts that are `mixed` already, or what suits."""
    if chosen.mix is not None:
        return chosen.mix
    if mixed is not None:
        return mixed.share
    if general.train is None:
        return TRANSLATIONS_SHARE
    return share_of(base, *size, minutes=chosen.minutes or MINUTES)


def share_of(base: Run, pairs: int, tokens: float, *, minutes: float) -> float:
    """Return the share of general pairs that come from a corpus: as many as leave time for `DOMAIN_PASSES` over the domain.

    The domain has so many `pairs` of so many `tokens` each. The time is reckoned by the speed at which the base was trained.
    """
    cost = base.manifest.get("cost", {})
    if not cost.get("seconds") or not cost.get("tokens"):
        return LEAST_SHARE
    seen = cost["tokens"] / cost["seconds"] * 60 * minutes
    return round(min(LARGEST_SHARE, max(LEAST_SHARE, 1 - DOMAIN_PASSES * pairs * tokens / seen)), 2)


def adapted_recipe(base: Run, mixture: Mixture, settings: AdaptationSettings) -> Recipe:
    """Return the recipe of an adaptation: text and decoding of the base, its model started from it, and training to suit.

    Raises SettingsError for assignments that do not fit.
    """
    own = base.recipe.model_dump(mode="json")
    batch = round(min(own["training"]["batch_tokens"], max(500.0, mixture.pairs * mixture.tokens / 20)))
    steps = max(1.0, mixture.pairs * mixture.tokens / batch / (1 - mixture.share))
    repeat = int(mixture.data["train"][0].get("repeat", 1))
    training = {name: own["training"][name] for name in KEPT} | {
        "minutes": settings.minutes or MINUTES,
        "epochs": PASSES / repeat,
        "batch_tokens": batch,
        "optimizer": "adamw",
        "learning_rate": _rate(base, settings.method),
        "schedule": "linear",
        "warmup": min(100, max(1, round(steps / 2))),
        "metric": "loss",
        "validate_every": min(250, max(5, round(steps / 2))),
        "validate_sentences": 10**6,
        "patience": PATIENCE,
        "keep": 0,
        "frozen": "embeddings" if settings.method == "frozen-embeddings" else "none",
    }
    start = {"start_from": {"whole": str(base.folder.absolute())}}
    adapters: dict[str, Any] = {"adapters": {} if settings.method == "adapters" else None}
    table = {
        "about": f"{base.folder.name}, adapted by `dragoman adapt`.",
        "seed": own["seed"],
        "data": mixture.data,
        "text": own["text"],
        "model": own["model"] | start | adapters,
        "training": training,
        "decoding": own["decoding"],
    }
    recipe = parse(Recipe, overridden(table, settings.assignments))
    check_recipe(recipe)
    check_rerank(recipe)
    return recipe


def _rate(base: Run, method: MethodName) -> float:
    """Return the peak learning rate: a fifth of the base's, within bounds; more for adapters."""
    fifth = base.recipe.training.learning_rate / 5
    return adapted_rate(imported=ORIGINAL in base.manifest, adapters=method == "adapters", most=fifth)


def _opened(folder: Path, settings: AdaptationSettings) -> Run:
    """Open the base; the languages of an imported model of many may be among the assignments.

    If it was adapted between others before, the corpora of that say nothing about these.
    """
    base = open_run(folder)
    data, given = base.recipe.data, override({}, settings.assignments).get("data") or {}
    languages = {name: given[name] for name in ("source", "target") if name in given}
    framed = bool(base.source.frames or base.target.starts)
    other = {name: one for name, one in languages.items() if getattr(data, name) != one}
    if other and data.train and not (framed or data.tags):
        name, one = next(iter(other.items()))
        raise InputError(
            f"{folder} was trained from `{data.source}` to `{data.target}` alone, so `data.{name}` cannot be {one!r}; remove it, "
            "or train a new run of several languages, with `data.languages`"
        )
    if (data.train and not framed) or not other:
        return base
    bare: dict[str, Any] = dict.fromkeys(("train", "dev", "test"), ())
    data = parse(DataSettings, data.model_dump(mode="json") | bare | languages, f"the assignments, for {folder}")
    return replace(base, recipe=base.recipe.model_copy(update={"data": data}))


def _check_base(base: Run) -> None:
    """Raise an error for a run that cannot be adapted."""
    base.require("translate")
    if not base.weights.exists():
        raise RunError(f"{base.folder} has no model.safetensors yet, so there is nothing to adapt; train it first")
    if not directions_of(base).trained:
        raise InputError(
            f"{base.folder} does not say between which two of its languages it is to be adapted; add `--set data.source=...` and "
            "`--set data.target=...`"
        )
    refuse_documents(base.folder, capabilities_of(base.recipe.model), "a folder of pairs has none")


def _check_model(out: Path, recipe: Recipe, base: Run) -> None:
    """Raise SettingsError for settings of text or adapters that do not fit the model, before hours of work rather than after."""
    check_rows(recipe)
    codecs_for(recipe, lambda: ())
    model, adapters = new_run(out, recipe, (base.source, base.target), metadata={}).fresh_model(), recipe.model.adapters
    if adapters is not None:
        Adapters(model, adapters)


def _check_fit(base: Run, data: DataSettings) -> None:
    """Raise InputError for the first sentence of the domain that has more tokens than the base has positions."""
    model = capabilities_of(base.recipe.model)
    if model.source_positions is None and model.target_positions is None:
        return
    for pair in chain(pairs_of(data, "train"), pairs_of(data, "dev")):
        source = base.source.special.ended(base.source.framed(pair.source, pair.between))
        target = [*base.target.start(pair.between), *base.target.encode(pair.target), base.target.special.eos]
        for ids, bound in ((source, model.source_positions), (target, model.target_positions)):
            if bound is not None and len(ids) > bound:
                raise InputError(
                    f"{pair.place}: a sentence has {len(ids)} tokens (with </s>), more than the {bound} positions of "
                    f"{base.folder}; split it, or leave out long ones with `--set data.filters.max_words=...` or "
                    "`data.filters.max_characters=...`"
                )


def _origin(base: Run, paths: Sequence[Path], method: MethodName, *, share: float) -> dict[str, Any]:
    """Return what the texts of an adaptation depend on, for the manifest and for resuming."""
    files = Checksums()
    return {
        "runs": [str(base.folder)],
        "weights": [files.of(base.weights)],
        "method": method,
        "mix": share,
        "data": {str(path): files.of(path) for path in paths},
        "decoding": base.recipe.decoding.model_dump(mode="json"),
        **kept_of(base.recipe.data),
    }


def _translate(
    base: Run,
    out: Path,
    corpora: Sequence[CorpusTranslation],
    *,
    device: str,
    listener: Listener,
    report: Report | None,
) -> None:
    """Let the base translate sentences of the domain, and record the files in the new run `out`."""
    translator = best_translator(base, device=device, command="adapt")
    check_lengths(translator, corpora)
    translate_corpora(translator, corpora, partial(_if_usable, base), report=report)
    for corpus in corpora:
        listener.say(count(corpus.path))
        record(out, [corpus.path])


def _if_usable(base: Run, best: Translation, pair: Pair) -> list[Translation]:
    """Return a translation, unless it is empty or, cut into tokens anew, longer than the positions of the base."""
    bound = capabilities_of(base.recipe.model).target_positions
    ids = (*base.target.start(pair.between), *base.target.encode(best.text))
    return [best] if best.text.strip() and (bound is None or len(ids) < bound) else []
