"""Laws 9 to 11, 13 and 14: on training and on text. Like those in `laws`, they raise AssertionError if one is broken."""

import random
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman.data.settings import DataSettings
from dragoman.data.store import Store, build_store
from dragoman.data.stream import BatchStream
from dragoman.data.variation import Variation
from dragoman.interfaces import Batch, Padded
from dragoman.laws.examples import Architecture, batch, fresh_model
from dragoman.layers.dropout import Dropout
from dragoman.models.seq2seq import Seq2Seq
from dragoman.models.unregistered import plain_tensors
from dragoman.settings import parse
from dragoman.text.codec import Codec, learn_codecs
from dragoman.text.settings import CharactersSettings, SentencePieceSettings, WordsSettings
from dragoman.training import step as training_step
from dragoman.training.checkpoint import fill, own_tensors
from dragoman.training.contracts import Objective
from dragoman.training.files import RunFiles
from dragoman.training.objectives import build_objective, translation_loss
from dragoman.training.reports import Silent
from dragoman.training.settings import TrainingSettings
from dragoman.training.trainer import Trainer
from dragoman.tree import map_tensors

SENTENCES = [
    "the old sea",
    "a boat, a sea",
    "who sat there?",
    '"no!" she said',
    "the sea is old",
    "at sea (again)",
    "is she there",
    "again",
    "no boat",
    "he sat; she sat",
]


WHOLE = batch([5, 2, 4, 3, 6, 1], [9, 3, 2, 4, 2, 3])
PARTS = ([0], [1, 2, 3], [4, 5])


def law_9_uneven_batches_add_up(architecture: Architecture) -> None:
    """One step over uneven batches has the loss and the gradient of one big batch, and of the mean over its tokens."""
    model = _without_dropout(architecture)
    _adds_up(model, partial(translation_loss, smoothing=0.1), _gradients_of_mean(model, WHOLE))


def law_9_an_objective_adds_up(objective: Objective, architecture: Architecture) -> None:
    """Law 9 for an objective: its loss and gradient are sums over target tokens, divided once by their number."""
    model = _without_dropout(architecture)
    loss = objective(model, WHOLE)
    assert loss.tokens == int(WHOLE.real.sum()), "an objective counts the target tokens that are not padding"
    _adds_up(model, objective, _gradients(model, loss.total / loss.tokens))


def law_10_a_resumed_run_equals_an_unbroken_one(
    architecture: Architecture, folder: Path, *, budget: Mapping[str, Any], stops: list[int], sampling: float = 0.3
) -> None:
    """Training that is stopped after each of `stops` steps and resumed ends with the same weights, bit for bit.

    `budget` may hold other settings of training too.
    """
    usual = {
        "batch_tokens": 24,
        "tokens_per_step": 20,
        "schedule": "cosine",
        "warmup": 2,
        "validate_every": 3,
        "keep": 0,
    }
    settings = TrainingSettings(**{**usual, "precision": "float32", **budget})
    resumed_equals_unbroken(partial(trainer_of, architecture, settings=settings, sampling=sampling), folder, stops)


def resumed_equals_unbroken(start: Callable[[Path], Trainer], folder: Path, stops: list[int]) -> None:
    """Law 10 for any trainer that `start` creates in a folder."""
    torch.manual_seed(3)
    unbroken = start(folder / "unbroken")
    unbroken.run()
    torch.manual_seed(3)
    for number, stop in enumerate([*stops, None]):
        trainer = start(folder / "broken")
        if number:
            torch.manual_seed(100 + number)
            trainer.restore()
        assert isinstance(trainer.listener, StopAt)
        trainer.listener.stop_at(trainer, stop)
        trainer.run()
        trainer.stream.close()
        assert stop is None or trainer.progress.step == stop
    unbroken.stream.close()
    assert trainer.progress.finished and trainer.progress.step == unbroken.progress.step > max(stops)
    assert trainer.progress.tokens == unbroken.progress.tokens
    assert trainer.progress.cost == unbroken.progress.cost
    assert trainer.stream.position == unbroken.stream.position
    _same_bits(_everything(trainer), _everything(unbroken))


def law_11_text_survives_the_codec(codec: Codec) -> None:
    """Encoded text, however it is segmented, is decoded to the normalised text."""
    rng = random.Random(4)
    for text in (*SENTENCES, "  the   sea,\tthe\u00a0sea  ", "(a) boat?!", '"the sea?"'):
        normalized = codec.normalize(text)
        assert codec.decode(codec.encode(text)) == normalized
        for rate in (0.1, 0.5):
            assert codec.decode(codec.sample(text, rng, rate)) == normalized
        assert codec.normalize(normalized) == normalized


CODECS: dict[str, Any] = {
    "byte pairs": SentencePieceSettings(size=55),
    "byte pairs, lower case": SentencePieceSettings(size=55, lower=True),
    "byte pairs, inline casing": SentencePieceSettings(size=56, inline_casing=True),
    "unigram": SentencePieceSettings(algorithm="unigram", size=44),
    "words": WordsSettings(minimum_count=1, joint=True),
    "characters": CharactersSettings(joint=True),
}


@cache
def codec_of(name: str) -> Codec:
    """Return the codec learned from SENTENCES."""
    codec, _ = learn_codecs(CODECS[name], lambda: [(text, text.upper()) for text in SENTENCES])
    return codec


def law_13_every_weight_is_trained(architecture: Architecture) -> None:
    """Every weight has a gradient, unless it is one that is not to be trained."""
    model = _without_dropout(architecture)
    loss = translation_loss(model, WHOLE)
    gradients = _gradients(model, loss.total)[1]
    idle = [name for name, weight in model.named_parameters() if weight.requires_grad and name not in gradients]
    assert not idle, (
        f"the loss does not depend on the weights `{idle[0]}`: use them, or set their `requires_grad` to False"
    )


@torch.no_grad()
def law_14_saved_weights_are_all_there_is(architecture: Architecture) -> None:
    """A model that was built with other random numbers gives the same logits once it has the weights of another."""
    trained, loaded = (fresh_model(architecture, seed=seed).eval() for seed in (5, 6))
    plain = next(plain_tensors(trained), None)
    assert plain is None, (
        f"the plain tensor `{plain}` is not saved with the model: keep it in an nn.Parameter or a persistent buffer"
    )
    fill(loaded, own_tensors(trained), Path("the weights"))
    expected = trained(WHOLE.source, WHOLE.inputs).logits
    torch.testing.assert_close(
        loaded(WHOLE.source, WHOLE.inputs).logits,
        expected,
        msg="the model has random numbers that are not saved with it: keep them in an nn.Parameter or a persistent buffer",
    )


class StopAt(Silent):
    """Asks training to stop after a given step, as Ctrl-C does."""

    def __init__(self) -> None:
        self.trainer: Trainer | None = None
        self.step: int | None = None

    def stop_at(self, trainer: Trainer, step: int | None) -> None:
        """Set what to stop, and when."""
        self.trainer, self.step = trainer, step

    def progress(self, record: Mapping[str, Any]) -> None:
        """Ask for the stop."""
        if self.trainer is not None and record["step"] == self.step:
            self.trainer.stop_requested = True


def trainer_of(
    architecture: Architecture, folder: Path, *, settings: TrainingSettings, sampling: float = 0.0
) -> Trainer:
    """Return a trainer of a new model over SENTENCES, in a new or existing folder."""
    folder.mkdir(parents=True, exist_ok=True)
    codec = codec_of("byte pairs")
    state = torch.get_rng_state()
    model = fresh_model(architecture, len(codec))
    torch.set_rng_state(state)
    variation = Variation(sampling, sampling)
    return Trainer(
        model,
        build_objective,
        BatchStream(
            _store(folder.parent / "cache"), (codec, codec), settings.batch_tokens, seed=1, variation=variation
        ),
        settings=settings,
        precision="float32",
        files=RunFiles(folder),
        validate=lambda model: {"dev_loss": 1.0, "dev_bleu": 0.0},
        listener=StopAt(),
    )


def _store(folder: Path) -> Store:
    """SENTENCES with their mirror images, encoded."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = (folder / "a.txt", folder / "b.txt")
    for path, texts in zip(paths, (SENTENCES, SENTENCES[::-1]), strict=True):
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    corpus = {"source": str(paths[0]), "target": str(paths[1])}
    data = parse(DataSettings, {"source": "a", "target": "b", "train": [corpus], "dev": [corpus]})
    codec = codec_of("byte pairs")
    return build_store(folder, data, data.train, codecs=(codec, codec))[0]


def _everything(trainer: Trainer) -> dict[str, Tensor]:
    """Return everything that training changes: weights, their average, and optimiser state."""
    tensors = {f"model.{name}": tensor for name, tensor in own_tensors(trainer.model).items()}
    tensors |= {f"trained.{name}": tensor for name, tensor in own_tensors(trainer.trained).items()}
    for index, entries in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in entries.items()}
    if trainer.average is not None:
        tensors |= {f"average.{name}": tensor for name, tensor in trainer.average.averages.items()}
    return tensors


def _same_bits(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Fail at the first tensor that differs in any bit."""
    assert actual.keys() == expected.keys()
    for name, tensor in actual.items():
        assert torch.equal(tensor, expected[name]), f"{name} differs"


def _without_dropout(architecture: Architecture) -> Seq2Seq:
    """Return a new model in training mode without dropout."""
    none = {name: 0.0 for name in ("dropout", "attention_dropout") if name in type(architecture).model_fields}
    model = fresh_model(architecture.model_copy(update=none))
    model.train()
    for module in model.modules():
        if isinstance(module, Dropout):
            module.dropped = 0
    return model


def _adds_up(model: Seq2Seq, objective: Objective, expected: tuple[Tensor, dict[str, Tensor]]) -> None:
    """Fail unless steps over the batch, whole or in parts, have this loss and these gradients."""
    parts = [_rows(WHOLE, rows) for rows in PARTS]
    for batches in ([WHOLE], parts, parts[::-1]):
        loss, gradients = _step(model, objective, batches)
        torch.testing.assert_close(loss, expected[0], rtol=1e-5, atol=1e-6)
        assert gradients.keys() == expected[1].keys(), "other weights have a gradient"
        for name, gradient in gradients.items():
            torch.testing.assert_close(
                gradient, expected[1][name], rtol=1e-3, atol=1e-5, msg=f"the gradient of {name} differs"
            )


def _step(model: Seq2Seq, objective: Objective, batches: list[Batch]) -> tuple[Tensor, dict[str, Tensor]]:
    """Take a training step that changes no weights; return the mean loss and the gradients."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    result = training_step.train_step(
        model, objective, optimizer, batches=batches, clip=1e9, compute=training_step.Compute()
    )
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return torch.tensor(result.total / result.tokens), gradients


def _gradients_of_mean(model: Seq2Seq, whole: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the mean loss and its gradients with torch's own cross-entropy."""
    logits = model(whole.source, whole.inputs).logits
    return _gradients(model, F.cross_entropy(logits[whole.real], whole.labels[whole.real], label_smoothing=0.1))


def _gradients(model: Seq2Seq, loss: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Return a loss and its gradients."""
    model.zero_grad()
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def _rows(whole: Batch, rows: list[int]) -> Batch:
    """Return some rows of a batch, without unneeded columns."""
    return Batch(_trimmed(whole.source, rows), _trimmed(whole.target, rows))


def _trimmed(padded: Padded, rows: list[int]) -> Padded:
    """Return some rows, as wide as the longest of them."""
    width = int(padded.mask[rows].sum(1).max())
    previous = map_tensors(lambda tensor: tensor[rows], padded.previous)
    return Padded(padded.ids[rows, :width], padded.mask[rows, :width], previous)
