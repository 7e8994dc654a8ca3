"""Measure a model on the dev corpora during training."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dragoman.data.collate import collate
from dragoman.data.corpus import Pair, first_of_each_direction, read_pairs
from dragoman.decoding.settings import DecodingSettings
from dragoman.errors import CorpusError, number_of
from dragoman.inference.translator import Translator
from dragoman.interfaces import Batch
from dragoman.metrics.scores import bleu
from dragoman.models.build import Model, purpose_of
from dragoman.models.seq2seq import Seq2Seq
from dragoman.runs.folder import Run
from dragoman.runs.recipe import Recipe
from dragoman.text.codec import encode_within
from dragoman.training.contracts import Objective
from dragoman.training.masking import mask_tokens, masked_loss
from dragoman.training.objectives import translation_loss

Say = Callable[[str], None]
"""Receives a message for the user."""

ROWS = 100
"""Number of sentences in a language model's batch."""


class Validation:
    """Measure a translator on the dev corpora: `dev_loss` per token (not smoothed), `dev_bleu` of greedy translations.

    With several directions, `dev_bleu` is the mean of those of the directions, which are `dev_bleu_en-fr` and the like.
    """

    def __init__(self, recipe: Recipe, run: Run, device: torch.device, *, say: Say | None = None) -> None:
        self.run = run
        self.device = device
        self.greedy = DecodingSettings(method="greedy", maximum_ratio=1.5, maximum_extra=10)
        pairs = dev_pairs(recipe, say)
        self.sources = [pair.source for pair in pairs]
        self.references = [pair.target for pair in pairs]
        self.documents = [pair.document for pair in pairs]
        self.languages = [pair.between for pair in pairs]
        self.directions: dict[str, list[int]] = {}
        """The numbers of the pairs of each direction, if there are several."""
        for number, pair in enumerate(pairs):
            if pair.languages is not None:
                self.directions.setdefault("-".join(pair.languages), []).append(number)

    def translator(self, model: Seq2Seq) -> Translator:
        """Return a greedy translator. Raises InputError if a dev sentence is longer than the model's positions."""
        translator = Translator(
            [model],
            self.run.source,
            self.run.target,
            settings=self.greedy,
            languages=self.run.directions,
            dictionary=self.run.dictionary,
        )
        translator.encode(self.sources, "source", to=self.languages)
        translator.encode(self.references, "target")
        return translator

    def __call__(self, model: Seq2Seq) -> dict[str, Any]:
        """Return the scores of `model`, which is in evaluation mode."""
        translator = self.translator(model)
        previous = translator.preceding(self.sources, self.documents)
        context: dict[str, Any] = {"previous": previous, "to": self.languages}
        scored = translator.score(self.sources, self.references, **context)
        hypotheses = [one.text for one in translator.translate(self.sources, **context)]
        loss = -sum(total for total, _ in scored) / sum(tokens for _, tokens in scored)
        return {"dev_loss": loss, **self._bleu(hypotheses)}

    def _bleu(self, hypotheses: Sequence[str]) -> dict[str, float]:
        """Return BLEU of greedy translations, of each direction too if there are several."""
        if not self.directions:
            return {"dev_bleu": bleu(hypotheses, [self.references]).score}
        scores = {
            f"dev_bleu_{name}": bleu([hypotheses[n] for n in rows], [[self.references[n] for n in rows]]).score
            for name, rows in self.directions.items()
        }
        return {"dev_bleu": sum(scores.values()) / len(scores), **scores}


class LanguageModelValidation:
    """Measure a language model on sentences: `dev_loss`, the cross-entropy per predicted token (not smoothed).

    For a masked language model, the same tokens are masked at every call, by the recipe's seed.
    """

    def __init__(self, run: Run, model: Model, pairs: list[Pair]) -> None:
        """Encode the sentences. Raises InputError if one is longer than the model's positions."""
        masked = purpose_of(run.recipe.model) == "fill"
        self.objective: Objective = masked_loss if masked else translation_loss
        sides = [
            encode_within(codec, sentences, bound, name="dev sentence")
            for codec, sentences, bound in (
                (run.source, [pair.source for pair in pairs], model.source_positions),
                (run.target, [pair.target for pair in pairs], model.target_positions),
            )
        ]
        ordered = sorted(zip(*sides, strict=True), key=lambda pair: len(pair[1]))
        special = run.target.special
        batches = [collate(ordered[first : first + ROWS], special=special) for first in range(0, len(ordered), ROWS)]
        generator = torch.Generator().manual_seed(run.recipe.seed)
        self.batches: list[Batch] = (
            [mask_tokens(batch, len(run.source), generator, special=run.source.special) for batch in batches]
            if masked
            else batches
        )

    def __call__(self, model: Model) -> dict[str, Any]:
        """Return the loss of `model`, which is in evaluation mode."""
        device = next(model.parameters()).device
        with torch.inference_mode():
            losses = [self.objective(model, batch.to(device)) for batch in self.batches]
        return {"dev_loss": sum(loss.plain.item() for loss in losses) / sum(loss.tokens for loss in losses)}


def build_validation(
    run: Run, model: Model, device: torch.device, *, say: Say | None = None
) -> Validation | LanguageModelValidation:
    """Build the validation of `model` on the dev corpora. Raises InputError if a sentence is longer than its positions.

    `say` receives a message if pairs are dropped.
    """
    if purpose_of(run.recipe.model) != "translate":
        return LanguageModelValidation(run, model, dev_pairs(run.recipe, say))
    validation = Validation(run.recipe, run, device, say=say)
    assert isinstance(model, Seq2Seq)
    validation.translator(model)
    return validation


def untrained(validation: Validation | LanguageModelValidation) -> Validation | LanguageModelValidation:
    """Return a validation that takes about as long with a new model, which never ends a sentence, as with a trained one."""
    if isinstance(validation, Validation):
        validation.greedy = validation.greedy.model_copy(update={"maximum_ratio": 1.0, "maximum_extra": 1})
    return validation


def dev_pairs(recipe: Recipe, say: Say | None = None) -> list[Pair]:
    """Return the first `training.validate_sentences` pairs of the dev corpora that have text on both sides.

    With several directions, equally many of each are taken.
    `say` receives a message if some do not, or if a whole corpus has no part in it.
    """
    pairs: list[Pair] = []
    blank: list[str] = []
    for number, corpus in enumerate(recipe.data.dev):
        for pair in read_pairs(corpus, recipe.data):
            if pair.source.strip() and pair.target.strip():
                # No document continues in the next corpus, even if both use the same name.
                pairs.append(pair._replace(document=pair.document and f"{number} {pair.document}"))
            else:
                blank.append(pair.place)
    if blank and say is not None:
        say(
            f"Warning: validation leaves out {number_of(len(blank), 'dev pair')} with an empty side; the first is {blank[0]}."
        )
    if not pairs:
        raise CorpusError(
            "the dev corpus has no pairs; set `data.dev`, which chooses the best weights, or a smaller `hold_out.modulo`"
        )
    chosen = first_of_each_direction(pairs, recipe.training.validate_sentences)
    used, there = ({one.place.rpartition(", ")[0]: None for one in some} for some in (chosen, pairs))
    if say is not None and len(used) < len(there):
        unused = ", ".join(name for name in there if name not in used)
        say(
            f"Warning: validation uses no pair of {unused}: the dev corpora before it have all {len(chosen):,} that it takes; "
            "raise training.validate_sentences."
        )
    return chosen
