"""Distillation: a small student learns from a teacher's translations of the corpus that the teacher was trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Any

from dragoman.data.corpus import Pair, corpus_files
from dragoman.data.corpus_settings import CorpusSettings
from dragoman.data.directions import Direction
from dragoman.data.ledger import record
from dragoman.data.settings import DataSettings
from dragoman.errors import SettingsError
from dragoman.inference.checks import lay_over
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.jobs.checks import check_recipe, check_rerank
from dragoman.jobs.train import fit
from dragoman.jobs.translate_corpus import (
    FIELDS,
    CorpusTranslation,
    Report,
    check_files,
    check_lengths,
    check_run_to_be,
    count,
    kept_of,
    load_translator,
    origin,
    remember,
    sentences,
    translate_corpora,
)
from dragoman.machine.processes import for_one_process
from dragoman.metrics.scores import sentence_bleu
from dragoman.models.capabilities import capabilities_of
from dragoman.runs.folder import Run, new_run, open_run
from dragoman.runs.lock import run_lock
from dragoman.runs.recipe import Recipe, find_recipe, overridden, tables_of
from dragoman.settings import merge, parse
from dragoman.training.contracts import Listener
from dragoman.training.progress import Progress
from dragoman.training.reports import Silent

FOLDER = "distilled"
"""Folder of the student's run with the translations, one JSON object per line."""
READING = frozenset({"sampling", "sampling_target", "sampling_epochs", "glossary"})
"""Settings of text that say how a student reads it in training; all others are those of the teacher's vocabularies."""


@dataclass(frozen=True)
class DistillationSettings:
    """Which of the teacher's translations the student learns from."""

    n_best: int = 1
    """Maximum number per sentence, without duplicates. The beam is at least as wide."""
    nearest: bool = False
    """Choose the hypotheses of the beam closest to the reference by sentence BLEU, rather than the teacher's best."""
    original: bool = False
    """Also learn from the original corpus."""
    decoding: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the teacher's search that differ from those of its recipe."""


def student_recipe(
    name: str | Path, teacher: Run, folder: Path, *, teaching: DistillationSettings, assignments: Sequence[str] = ()
) -> Recipe:
    """Return the recipe of a student: model, training and decoding of the recipe `name`, text and data of its teacher.

    Each training corpus is replaced by the file of its translations in `folder`; `assignments` (`a.b=value`) override
    everything but what the vocabularies are. Raises SettingsError if the student cannot learn from translations.
    """
    own, data = teacher.recipe.model_dump(mode="json"), teacher.recipe.data
    taught = [
        {
            "jsonl": str(_translations(folder, number)),
            "fields": list(FIELDS),
            "repeat": corpus.repeat,
            "tagged": corpus.tagged,
        }
        | ({"languages": list(direction)} if data.tagged else {})
        for number, (corpus, direction) in enumerate(_parts(data), 1)
    ]
    train = [*taught, *own["data"]["train"]] if teaching.original else taught
    table = reduce(merge, tables_of(find_recipe(str(name))))
    if not teaching.original:
        del own["data"]["noise"]  # which the translations do not have
    table = {**table, "data": {**own["data"], "languages": list(data.tags), "train": train}, "text": own["text"]}
    if table["model"].get("kind") == "transformer" and not teacher.source.shares(teacher.target):
        table["model"] = {"tied": "target", **table["model"]}
    recipe = parse(Recipe, overridden(table, assignments), where=str(name))
    check_recipe(recipe)
    check_rerank(recipe)
    _check_vocabularies(recipe, teacher)
    if capabilities_of(recipe.model).previous:
        raise SettingsError("a student translates sentence by sentence; choose a `model.kind` other than `document`")
    for other in (
        open_run(path) for path in (recipe.model.start_from.runs.values() if recipe.model.start_from else ())
    ):
        if (other.source, other.target) != (teacher.source, teacher.target):
            raise SettingsError(
                f"{other.folder} has vocabularies other than those of {teacher.folder}, which the student uses; "
                "remove `model.start_from` from its recipe"
            )
    return recipe


def _check_vocabularies(recipe: Recipe, teacher: Run) -> None:
    """Raise SettingsError for settings that do not fit the teacher's vocabularies, which the student has."""
    for name, value in teacher.recipe.text:
        if name not in READING and getattr(recipe.text, name, None) != value:
            raise SettingsError(
                f"`text.{name}` has no effect, because the student has the vocabularies of {teacher.folder}; remove it"
            )
    tied = getattr(recipe.model, "tied", None)
    if tied in ("all", "embeddings") and not teacher.source.shares(teacher.target):
        raise SettingsError(
            f"`model.tied: {tied}` needs one vocabulary for both languages, but {teacher.folder}, whose vocabularies the student "
            "has, has one for each; set `model.tied: target`"
        )


@for_one_process
def distill(
    runs: Sequence[Path],
    recipe: str | Path,
    folder: Path,
    *,
    teaching: DistillationSettings | None = None,
    assignments: Sequence[str] = (),
    resume: bool = False,
    listener: Listener | None = None,
    report: Report | None = None,
) -> Progress:
    """Translate the training corpus of a run (or of an ensemble's first run), and train a student on that into `folder`.

    The student's recipe is that of `student_recipe`, its vocabularies are the teacher's. With `resume`, translation and
    training continue where they were stopped. Source: Kim and Rush 2016, sequence-level knowledge distillation (section 3.2)
    and, with `teaching.nearest`, interpolation (3.3), to which the paper turns after training on the former. Everything is
    checked before anything is translated.
    """
    chosen, listener = teaching or DistillationSettings(), listener or Silent()
    teacher = open_run(runs[0])
    teacher.require_corpora()
    student = student_recipe(recipe, teacher, folder, teaching=chosen, assignments=assignments)
    translator = _translator(teacher, runs, chosen, device=student.training.device)
    with run_lock(folder):
        check_run_to_be(folder, FOLDER, "translations", resume=resume)
        codecs = (teacher.source, teacher.target)
        new_run(folder, student, codecs, metadata={}).fresh_model()
        check_files((*student.data.dev, *student.data.test), student.data)
        about = _teacher(teacher, runs, translator, teaching=chosen)
        corpora, begun = _corpora(teacher, folder), (folder / "manifest.json").exists()
        if not begun:
            check_lengths(translator, corpora)
        remember(folder / FOLDER / "teacher.json", about, resume=resume)
        record(folder, [folder / FOLDER / "teacher.json"])
        if not begun:
            translate_corpora(
                translator,
                corpora,
                lambda translation, pair: choose(translation, pair.target, chosen),
                report=report,
            )
            record(folder, (corpus.path for corpus in corpora))
            for corpus in corpora:
                listener.say(count(corpus.path))
    return fit(student, folder, resume=begun, listener=listener, codecs=codecs, about={"teacher": about})


def _translator(teacher: Run, runs: Sequence[Path], teaching: DistillationSettings, *, device: str) -> Translator:
    """Load the teacher so that it returns all candidate translations.

    Its beam is as wide as `n_best` unless a search is given. Raises SettingsError for settings that would be ignored.
    """
    own, changes = teacher.recipe.decoding, {**teaching.decoding, "n_best": teaching.n_best}
    if "n_best" in teaching.decoding:
        raise SettingsError("`teacher.n_best` has no effect; use --n-best to set how many translations to learn from")
    if not teaching.decoding.keys() & {"method", "beam"} and own.method != "sample" and teaching.n_best > own.size:
        changes |= {"method": "beam", "beam": teaching.n_best}
    settings = lay_over(own, changes, capabilities_of(teacher.recipe.model))
    if teaching.nearest:
        if settings.method == "sample" or settings.size == 1:
            raise SettingsError(
                "--nearest chooses among the hypotheses of a beam, but the teacher's search has none; remove it, or set "
                "`teacher.method=beam` and a `teacher.beam` of more than 1"
            )
        settings = settings.model_copy(update={"n_best": settings.size})
    return load_translator(*runs, device=device, settings=settings)


def _teacher(
    teacher: Run, runs: Sequence[Path], translator: Translator, *, teaching: DistillationSettings
) -> dict[str, Any]:
    """Return what the translations depend on, for the manifest and for resuming."""
    data = teacher.recipe.data
    files = (path for corpus in data.train for path in corpus_files(corpus, data))
    return asdict(teaching) | origin(runs, translator, files) | kept_of(data, data.train)


def choose(translation: Translation, reference: str, teaching: DistillationSettings) -> list[Translation]:
    """Return the translations that the student learns from, best first, without duplicates or empty ones.

    >>> best = Translation("A cat.", -1.0, -1.0, (Translation("The cat.", -1.2, -1.2), Translation("A cat.", -1.5, -1.5)))
    >>> [one.text for one in choose(best, "The cat.", DistillationSettings(n_best=2))]
    ['A cat.', 'The cat.']
    >>> [one.text for one in choose(best, "The cat.", DistillationSettings(nearest=True))]
    ['The cat.']
    """
    distinct: dict[str, Translation] = {}
    for one in (translation, *translation.alternatives):
        if one.text.strip():
            distinct.setdefault(one.text, one)
    kept = list(distinct.values())
    if teaching.nearest:
        kept.sort(key=lambda one: -sentence_bleu(one.text, reference))
    return kept[: teaching.n_best]


def _corpora(teacher: Run, folder: Path) -> list[CorpusTranslation]:
    """Return the teacher's training corpora, with the files for its translations of them."""
    data = teacher.recipe.data
    return [
        CorpusTranslation(partial(_sentences, corpus, data, direction), _translations(folder, number))
        for number, (corpus, direction) in enumerate(_parts(data), 1)
    ]


def _parts(data: DataSettings) -> Iterator[tuple[CorpusSettings, Direction]]:
    """Yield each training corpus of pairs with its direction, twice if it is used in both."""
    for corpus in data.pairs:
        for direction in data.directions_of(corpus):
            yield corpus, direction


def _sentences(corpus: CorpusSettings, data: DataSettings, direction: Direction) -> Iterator[Pair]:
    """Yield the pairs of a corpus in one direction that the teacher was trained on."""
    return (pair for pair in sentences(corpus, data) if pair.languages in (None, direction))


def _translations(folder: Path, number: int) -> Path:
    """Return the path of the translations of a training corpus, independent of `data.root`."""
    return folder.absolute() / FOLDER / f"{number}.jsonl"
