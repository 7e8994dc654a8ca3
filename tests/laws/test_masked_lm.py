"""The laws that concern a masked language model: it has no decoder, so laws 1, 2 and 4 to 8 say nothing of it."""

from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from tests.laws.architectures import ARCHITECTURES

from dragoman.interfaces import PAD, Batch, Padded
from dragoman.laws import of_training as laws_of_work
from dragoman.laws.examples import LENGTHS, source
from dragoman.laws.of_models import close
from dragoman.models.build import build_model
from dragoman.models.masked_lm import MaskedLanguageModel
from dragoman.models.seq2seq import Vocabularies
from dragoman.models.transformer_settings import MaskedSettings
from dragoman.training.files import RunFiles
from dragoman.training.masking import MaskingStream, mask_tokens, masked_loss
from dragoman.training.settings import TrainingSettings
from dragoman.training.step import Compute, train_step
from dragoman.training.trainer import Trainer

SETTINGS = MaskedSettings(encoder_layers=2, width=8, feed_forward=12, heads=2, dropout=0.3)


def model_of(vocabulary: int = 13) -> MaskedLanguageModel:
    """A model of its own, always with the same weights."""
    torch.manual_seed(5)
    made = build_model(SETTINGS, Vocabularies(vocabulary, vocabulary, shared=True))
    assert isinstance(made, MaskedLanguageModel)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return made


def test_padding_does_not_matter() -> None:
    model, sentences = model_of().eval(), source(LENGTHS)
    features = model(sentences)
    garbage = torch.where(sentences.mask, sentences.ids, 4 + torch.arange(5) % 9)
    longer = Padded(F.pad(sentences.ids, (0, 3), value=PAD), F.pad(sentences.mask, (0, 3)))
    for padded in (Padded(garbage, sentences.mask), longer):
        close(model(padded)[:, :5][sentences.mask], features[sentences.mask])
    for row, length in enumerate(LENGTHS):
        alone = Padded(sentences.ids[row : row + 1, :length], sentences.mask[row : row + 1, :length])
        close(model(alone)[0], features[row, :length])


def test_uneven_batches_have_the_gradient_of_one_big_batch() -> None:
    model = model_of().eval()
    sentences = source([9, 4, 8, 6, 10, 3])
    whole = mask_tokens(Batch(sentences, sentences), 13, torch.Generator().manual_seed(2))
    parts = [
        Batch(*(Padded(side.ids[rows], side.mask[rows]) for side in (whole.source, whole.target)))
        for rows in ([0, 5], [1, 2, 3], [4])
    ]
    found = []
    for batches in ([whole], parts):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        result = train_step(model, masked_loss, optimizer, batches=batches, clip=1e9, compute=Compute())
        assert result.tokens == int(whole.real.sum()) > 3
        found.append((result.total, [parameter.grad.clone() for parameter in model.parameters()]))
    (total, gradients), (other, changed) = found
    torch.testing.assert_close(torch.tensor(other), torch.tensor(total))
    for before, after in zip(gradients, changed, strict=True):
        torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-5)


def test_a_resumed_run_equals_an_unbroken_one(tmp_path: Path) -> None:
    settings = TrainingSettings(
        epochs=1.5, batch_tokens=24, tokens_per_step=4, warmup=2, validate_every=3, keep=0, precision="float32"
    )
    laws_of_work.resumed_equals_unbroken(partial(_trainer, settings=settings), tmp_path, [1, 3])


def _trainer(folder: Path, *, settings: TrainingSettings) -> Trainer:
    """A trainer of a new model over the laws' sentences, some of whose tokens are hidden."""
    like = laws_of_work.trainer_of(ARCHITECTURES["decoder-only"], folder, settings=settings)
    pieces = len(laws_of_work.codec_of("byte pairs"))
    state = torch.get_rng_state()
    model = model_of(pieces)
    torch.set_rng_state(state)
    return Trainer(
        model,
        lambda settings: masked_loss,
        MaskingStream(like.stream, pieces, seed=1),
        settings=settings,
        precision="float32",
        files=RunFiles(folder),
        validate=like.validate,
        listener=like.listener,
    )
