"""The whole job of training: from a recipe and a folder to a finished run."""

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from dragoman.data.checksums import Checksums
from dragoman.data.corpus import corpus_files, read_pairs
from dragoman.data.settings import CorpusSettings
from dragoman.data.store import Store, build_store
from dragoman.data.stream import BatchStream
from dragoman.decoding.settings import DecodingSettings
from dragoman.devices import choose_device
from dragoman.errors import CorpusError, RunError, SettingsError
from dragoman.metrics.scores import bleu
from dragoman.models.seq2seq import Seq2Seq
from dragoman.recipe import Recipe
from dragoman.run import Run, new_run, open_run
from dragoman.text.codec import learn_codecs
from dragoman.training.checkpoint import average, fill, load_weights, save_weights
from dragoman.training.objectives import translation_loss
from dragoman.training.precision import choose
from dragoman.training.reports import Listener, Silent, TensorBoard
from dragoman.training.trainer import Progress, Trainer
from dragoman.translator import Translator


def fit(recipe: Recipe, folder: Path, *, resume: bool = False, listener: Listener | None = None) -> Progress:
    """Train what `recipe` describes into the run `folder`, or go on with a run that is there.

    Ctrl-C saves and returns; so does SIGTERM. A resumed run keeps its recipe, of which only the budget, the learning rate
    and clipping may change. Nothing is written to the folder before all that training needs is there and fits.
    RunError where the folder already holds a run and `resume` is not asked for.
    """
    ear = listener or Silent()
    run = _resumable(recipe, folder) if resume and folder.exists() else _prepared(recipe, folder, ear)
    trainer = _trainer(run, ear)
    run.save()
    if recipe.training.tensorboard:
        ear = trainer.listener = TensorBoard(folder / "tensorboard", ear)
    if resume and (folder / "training" / "last.safetensors").exists():
        trainer.restore()
        ear.say(f"Going on at step {trainer.progress.step}.")
    else:
        torch.manual_seed(recipe.seed + 1)
        trainer.metrics.forget_after(0)
    try:
        with _stops(trainer, ear):
            progress = trainer.run()
    finally:
        trainer.stream.close()
    if progress.finished and recipe.training.average > 1:
        _try_average(run, trainer, recipe.training.average, ear)
    ear.close()
    return progress


def _trainer(run: Run, ear: Listener) -> Trainer:
    """Encode the corpus, make the model, and put together what trains it."""
    recipe, codecs = run.recipe, (run.source, run.target)
    device = choose_device(recipe.training.device)
    torch.set_num_threads(recipe.training.threads or torch.get_num_threads())
    model = run.fresh_model().to(device)
    validation = Validation(recipe, run, device)
    validation.translator(model)
    store, summary = build_store(
        run.folder.parent / ".cache", recipe.data, recipe.data.train, codecs=codecs, workers=os.cpu_count() or 1
    )
    ear.say(str(summary))
    _check_lengths(store, model)
    return Trainer(
        model,
        partial(translation_loss, smoothing=recipe.training.label_smoothing),
        BatchStream(
            store,
            codecs,
            recipe.training.batch_tokens,
            seed=recipe.seed,
            sampling=recipe.text.sampling,
            bounds=(_most_pieces(model.source_positions), _most_pieces(model.target_positions)),
        ),
        settings=recipe.training,
        precision=run.manifest.get("precision") or choose(recipe.training.precision, device),
        folder=run.folder,
        validate=validation,
        listener=ear,
    )


def _most_pieces(positions: int | None) -> int | None:
    """Return how many pieces of text fit beside </s> (or, for the decoder's input, <s>)."""
    return None if positions is None else positions - 1


def _check_lengths(store: Store, model: Seq2Seq) -> None:
    """Refuse training sentences longer than the model's positions."""
    bounds = (model.source_positions, model.target_positions)
    for number, (lengths, bound) in enumerate(zip((store.source_lengths, store.target_lengths), bounds, strict=True)):
        longest = int(lengths.argmax())
        tokens = int(lengths[longest]) + 1
        if bound is not None and tokens > bound:
            raise CorpusError(
                f"a training sentence has {tokens} tokens (with </s>), more than the {bound} positions of the model "
                f"(`{store.text(longest)[number][:80]}`); set a larger model.max_positions, or a smaller data.filters.max_words"
            )


class Validation:
    """Measures a model on the dev corpora: `dev_loss` per token (not smoothed) and `dev_bleu` of greedy translations."""

    def __init__(self, recipe: Recipe, run: Run, device: torch.device) -> None:
        self.run = run
        self.device = device
        self.greedy = DecodingSettings(method="greedy", maximum_ratio=1.5, maximum_extra=10)
        count = recipe.training.validate_sentences
        pairs = [(s, t) for s, t in _pairs(recipe, recipe.data.dev) if s.strip() and t.strip()][:count]
        if not pairs:
            raise CorpusError("the dev corpus has no pair; set `data.dev`, which chooses the best weights")
        self.sources = [source for source, _ in pairs]
        self.references = [target for _, target in pairs]

    def translator(self, model: Seq2Seq) -> Translator:
        """Return a greedy translator. InputError where a dev sentence is longer than the model's positions."""
        translator = Translator([model], self.run.source, self.run.target, settings=self.greedy)
        translator.encode(self.sources, "source")
        translator.encode(self.references, "target")
        return translator

    def __call__(self, model: Seq2Seq) -> dict[str, Any]:
        """Return the scores of `model`, which is in evaluation mode."""
        translator = self.translator(model)
        scored = translator.score(self.sources, self.references)
        hypotheses = [translation.text for translation in translator.translate(self.sources)]
        return {
            "dev_loss": -sum(total for total, _ in scored) / sum(tokens for _, tokens in scored),
            "dev_bleu": bleu(hypotheses, [self.references]).score,
        }


def _checksums(recipe: Recipe) -> dict[str, str]:
    """Return the SHA-256 of every corpus file."""
    data, checksums = recipe.data, Checksums()
    files = [path for corpus in (*data.train, *data.dev, *data.test) for path in corpus_files(corpus, data)]
    return {str(path): checksums.of(path) for path in files}


def _prepared(recipe: Recipe, folder: Path, ear: Listener) -> Run:
    """Learn the codecs of a new run, of which nothing is written yet."""
    if (folder / "manifest.json").exists():
        raise RunError(
            f"{folder} already holds a run; add --resume to go on with it, or choose another folder with --out"
        )
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another folder with --out")
    ear.say("Reading the corpus and learning its pieces.")
    about = {
        "precision": choose(recipe.training.precision, choose_device(recipe.training.device)),
        "data": _checksums(recipe),
    }
    return new_run(folder, recipe, learn_codecs(recipe.text, lambda: _pairs(recipe, recipe.data.train)), about)


def _resumable(recipe: Recipe, folder: Path) -> Run:
    """Open a run to go on with. Of its recipe little may have changed, of its corpora nothing."""
    run = open_run(folder)
    if "averaged" in run.manifest:
        raise RunError(
            f"{folder} is an average of checkpoints, which cannot be trained further; resume the run it is from"
        )
    free = {"steps", "epochs", "minutes", "patience", "save_minutes", "log_every", "keep", "average", "threads"}
    free |= {"learning_rate", "clip"}
    old, new = run.recipe.model_dump(mode="json"), recipe.model_dump(mode="json")
    for table in (old, new):
        table["training"] = {key: value for key, value in table["training"].items() if key not in free}
        del table["decoding"], table["about"]
    if old != new:
        place = next(_differences(old, new, ""))
        raise SettingsError(
            f"{folder} was trained with another recipe: `{place}` differs; resume with the recipe it began with (only the "
            "budget, learning_rate and clip in `training` may change), or choose another folder with --out"
        )
    before = run.manifest.get("data", {})
    for path, checksum in _checksums(recipe).items():
        if before.get(path, checksum) != checksum:
            raise RunError(f"{path} has changed since {folder} began; bring it back, or begin another run with --out")
    return replace(run, recipe=recipe)


def _differences(old: Any, new: Any, place: str) -> Iterator[str]:
    """Name the places where two tables differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            if old.get(key) != new.get(key):
                yield from _differences(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    else:
        yield place


def _pairs(recipe: Recipe, corpora: Iterable[CorpusSettings]) -> Iterator[tuple[str, str]]:
    """Go through the pairs of several corpora as text."""
    for corpus in corpora:
        for pair in read_pairs(corpus, recipe.data):
            yield pair.source, pair.target


def _try_average(run: Run, trainer: Trainer, count: int, ear: Listener) -> None:
    """Take the average of the last weights where it is better on dev than the best so far."""
    paths = sorted((run.folder / "checkpoints").glob("step-*.safetensors"))[-count:]
    if len(paths) < 2:
        return
    model = trainer.model.eval()
    fill(model, {name: t.to(trainer.device) for name, t in average(paths).items()}, paths[-1])
    scores = trainer.validate(model)
    metric = trainer.settings.metric
    value = scores["dev_bleu"] if metric == "bleu" else -scores["dev_loss"]
    best = trainer.progress.best
    record = {"step": trainer.progress.step, "seconds": trainer.progress.seconds, "averaged": len(paths), **scores}
    trainer.metrics.append(record)
    ear.record(record)
    if best is None or value > best:
        save_weights(run.weights, model, {"averaged": len(paths), **scores})
        ear.say(f"The average of the last {len(paths)} weights is better on dev, so it is kept.")
    else:
        load_weights(run.weights, model)


@contextmanager
def _stops(trainer: Trainer, ear: Listener) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end training after the step under way; a second one ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        if trainer.stop_requested:
            raise KeyboardInterrupt
        trainer.stop_requested = True
        ear.say("Stopping after this step, and saving. (Once more to stop at once.)")

    signals = (signal.SIGINT, signal.SIGTERM)
    before: dict[int, Any] = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
