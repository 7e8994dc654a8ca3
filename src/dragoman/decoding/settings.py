"""How translations are searched for or drawn: the `decoding` section of a recipe. Does not import torch, which starts slowly."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from dragoman.settings import Settings

RERANK_WEIGHT = 0.5
"""Weight of a run that reranks, unless a setting says otherwise."""

ALONE: Mapping[str, Any] = {"rerank": (), "rerank_weights": ()}
"""Changes of decoding settings with which a run searches alone: no other run reranks."""

MOST_TOKENS = 10**9
"""Largest limit of a length, in tokens or in tokens for each of the source: larger ones may not fit into 64 bits."""

LARGEST_PENALTY = 10.0
"""Largest length penalty: beyond, powers of lengths are too large for numbers."""


class SearchSettings(Settings):
    """Settings of search and sampling that serve translators and language models. Lengths count the tokens that are written,
    without BOS and EOS; for a language model, the text given is the source."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """Beam search, greedy search (a beam of 1), or sampling every token from the model's distribution."""
    beam: int = Field(default=5, ge=1)
    """Beam size: number of hypotheses kept for each sentence."""
    n_best: int = Field(default=1, ge=1)
    """Number of translations returned for each sentence; at most `beam`, except when sampling. They are different texts, unless
    sampled, and fewer where the beam has no more: a larger one has. An empty sentence has one, which is empty."""
    stopping: Literal["exact", "full"] = "exact"
    """When search stops for a sentence: `exact` when no unfinished hypothesis can still enter the n best, `full` (faster) when
    `beam` hypotheses are finished."""
    length_normalisation: Literal["wu", "average", "none"] = "wu"
    """Length normalisation: log-probabilities are divided by ((5 + length) / 6) ** length_penalty (Wu et al. 2016, equation 14),
    length ** length_penalty, or 1. The length includes EOS."""
    length_penalty: float = Field(default=1.0, ge=0, le=LARGEST_PENALTY)
    """The exponent above; larger values favour longer translations."""
    minimum_length: int = Field(default=0, ge=0, le=MOST_TOKENS)
    """Minimum number of tokens in a translation."""
    maximum_length: int | None = Field(default=None, ge=1, le=MOST_TOKENS)
    """Maximum number of tokens in a translation, regardless of the length of its source."""
    maximum_ratio: float = Field(default=2.0, ge=0, le=MOST_TOKENS)
    """A translation has at most maximum_ratio * source length + maximum_extra tokens."""
    maximum_extra: int = Field(default=20, ge=1, le=MOST_TOKENS)
    """See `maximum_ratio`."""
    no_repeat_ngram: int = Field(default=0, ge=0)
    """No sequence of this many tokens occurs twice in a translation; 0 turns the rule off."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling only: logits are divided by it; values below 1 favour probable tokens."""
    top_k: int = Field(default=0, ge=0)
    """Sampling only: sample from the k most probable tokens; 0 means all."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Sampling only: sample from the fewest tokens whose probabilities add up to this (nucleus, Holtzman et al. 2020)."""
    seed: int = 1
    """Sampling only: random seed. The samples of a sentence depend only on the seed and the number of the sentence."""
    precision: Literal["auto", "float32", "bfloat16", "int8"] = "float32"
    """Arithmetic of linear layers: `bfloat16` and `int8` round weights and inputs; `auto` uses what is fastest on this CPU."""

    @model_validator(mode="after")
    def _agree(self) -> "SearchSettings":
        if self.method == "greedy" and self.n_best > 1:
            raise ValueError(f"`n_best` is {self.n_best}, but greedy search keeps one hypothesis; set `method: beam`")
        if self.method == "beam" and self.n_best > self.beam:
            kept = "1 hypothesis is" if self.beam == 1 else f"{self.beam} hypotheses are"
            raise ValueError(f"`n_best` is {self.n_best}, but only {kept} kept; raise `beam`")
        if self.maximum_length is not None and self.minimum_length > self.maximum_length:
            raise ValueError(
                f"`minimum_length` is {self.minimum_length}, above `maximum_length` {self.maximum_length}; lower it"
            )
        return self

    @property
    def size(self) -> int:
        """The size of the beam, 1 for greedy search."""
        return 1 if self.method == "greedy" else self.beam

    @property
    def wanted(self) -> int:
        """How many finished hypotheses must be the best there are."""
        return self.n_best

    @property
    def hypotheses(self) -> int:
        """How many hypotheses of each sentence are followed."""
        return self.n_best if self.method == "sample" else self.size

    @property
    def sizes(self) -> dict[str, int]:
        """How many hypotheses of a sentence are followed together, by the name of the setting that says so."""
        return {"n_best" if self.method == "sample" else "beam": self.hypotheses}

    @property
    def candidates(self) -> int:
        """How many hypotheses `n_best` texts are taken from: all of the beam, for some may be one text in other tokens."""
        return self.size if self.n_best > 1 and self.method == "beam" else self.n_best

    def limits(self, source_lengths: Any) -> Any:
        """Return the most tokens that the translation of each sentence may have, a tensor for a tensor of whole numbers.

        >>> import torch
        >>> SearchSettings(maximum_length=50).limits(torch.tensor([3, 10, 100]))
        tensor([26, 40, 50])
        """
        limits = (source_lengths * self.maximum_ratio).floor().to(source_lengths.dtype) + self.maximum_extra
        return limits.clamp(min=self.minimum_length, max=self.maximum_length)

    def limit(self, source_length: int) -> int:
        """Return `limits` of one sentence, rounded as tensors are: in float32.

        >>> SearchSettings(maximum_ratio=0.29, maximum_extra=1).limit(100)
        30
        """
        import numpy as np

        limit = int(np.floor(np.float32(source_length) * np.float32(self.maximum_ratio))) + self.maximum_extra
        limit = max(limit, self.minimum_length)
        return limit if self.maximum_length is None else min(limit, self.maximum_length)

    def normalise(self, log_prob: Any, length: Any) -> Any:
        """Divide log-probabilities, numbers or tensors, by the length normaliser; `length` counts EOS."""
        if self.length_normalisation == "none":
            return log_prob
        base = (length + 5) / 6 if self.length_normalisation == "wu" else length
        return log_prob / base**self.length_penalty


class DecodingSettings(SearchSettings):
    """All settings of translation."""

    coverage_penalty: float = Field(default=0.0, ge=0)
    """Weight of the penalty for source tokens that receive too little attention (beta in Wu et al. 2016, equation 14)."""
    shortlist: bool = False
    """Consider only target tokens that the source tokens are likely to become, as learned by `dragoman shortlist`: faster for
    large vocabularies. Probabilities then add up to 1 over the tokens listed for the sentence."""
    mbr_samples: int = Field(default=0, ge=0)
    """Minimum Bayes risk (Kumar and Byrne 2004; Eikema and Aziz 2022): sample this many translations, and choose among them and
    the beam the one most similar to all; 0 chooses the most probable one. The mean similarity, from 0 to 1, is its score."""
    mbr_utility: Literal["chrf", "bleu"] = "chrf"
    """Minimum Bayes risk: how similarity is measured, by the sentence chrF or BLEU of each pair."""
    rerank: tuple[Path, ...] = ()
    """Runs that rank all hypotheses of the beam together with the model (noisy channel, Yee et al. 2019): a run of the
    opposite direction, a language model of the target language, another run of the same direction, in any number."""
    rerank_weights: tuple[float, ...] = ()
    """The weight of each run of `rerank`; by default 0.5. The score of a translation is its log-probability per token, plus for
    each run the weight times the run's log-probability per token of what it predicts. `dragoman tune` finds weights."""
    glossary: tuple[Path, ...] = ()
    """Files of terms and their translations (TSV, CSV, TBX); earlier files take precedence. A run that was trained with
    `text.glossary` first reads the terms that its translation lacks. A sentence that still lacks one is searched again with a
    beam that must write all of its terms (dynamic beam allocation, Post and Vilar 2018), without reranking; its score is the
    log-probability by length."""
    glossary_beam: int = Field(default=4, ge=1)
    """Beam size of this second search, at least `n_best`."""
    dictionary: Path | None = None
    """File of lines `word TAB translation` for replacing unknown words; it precedes what the run learned from word alignments."""

    @property
    def wanted(self) -> int:
        """How many finished hypotheses must be the best there are; all of the beam where they will be reranked."""
        return self.size if self.coverage_penalty > 0 else self.n_best

    @model_validator(mode="after")
    def _weigh(self) -> "DecodingSettings":
        if self.rerank_weights and len(self.rerank_weights) != len(self.rerank):
            raise ValueError(
                f"`rerank_weights` has {len(self.rerank_weights)} numbers, but `rerank` has {len(self.rerank)} runs; give "
                "one number for each run of `rerank` (`--rerank`)"
            )
        if not all(weight >= 0 for weight in self.rerank_weights):
            raise ValueError("`rerank_weights` must be numbers of at least 0")
        for name in ("mbr_samples", "coverage_penalty"):
            if self.rerank and getattr(self, name):
                raise ValueError(
                    f"`rerank` and `{name}` both choose among the hypotheses; set `rerank: []` or `{name}: 0`"
                )
        return self

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each run that reranks."""
        return self.rerank_weights or (RERANK_WEIGHT,) * len(self.rerank)

    @property
    def reranks(self) -> bool:
        """Whether other runs choose: there must be a beam of several hypotheses."""
        return bool(self.rerank) and self.method == "beam" and self.size > 1

    @property
    def requires_terms(self) -> bool:
        """Whether the terms of a glossary must be in translations; samples stay as they are drawn."""
        return bool(self.glossary) and self.method != "sample"

    @property
    def sizes(self) -> dict[str, int]:
        """How many hypotheses of a sentence are followed together in each of the searches, by the name of its setting."""
        samples = {"mbr_samples": self.mbr_samples} if self.mbr_samples and self.method != "sample" else {}
        return {**super().sizes, **samples, **({"glossary_beam": self.glossary_beam} if self.requires_terms else {})}

    @property
    def alone(self) -> "DecodingSettings":
        """The search for the most probable translations, among which nothing else chooses."""
        return self.model_copy(update={"mbr_samples": 0, "n_best": self.candidates, **ALONE})

    @property
    def with_phrases(self) -> "DecodingSettings":
        """The search for translations with given phrases."""
        changes = {"method": "beam", "beam": max(self.n_best, self.glossary_beam), "shortlist": False}
        return self.model_copy(update=changes).alone

    @property
    def searches(self) -> tuple["DecodingSettings", ...]:
        """The searches that find what is chosen from: this one, or the whole beam, and for minimum Bayes risk the samples.

        Samples are not chosen from: a recipe may rerank, but a command ask for samples.
        """
        whole: dict[str, Any] = {"mbr_samples": 0, "n_best": self.size, **ALONE}
        if self.reranks:
            return (self.model_copy(update=whole),)
        if not self.mbr_samples or self.method == "sample":
            return (self if self.candidates == self.n_best else self.model_copy(update={"n_best": self.candidates}),)
        drawn = {"mbr_samples": 0, "n_best": self.mbr_samples, "method": "sample", "coverage_penalty": 0.0}
        return self.model_copy(update=whole), self.model_copy(update=drawn)

    def of_search(self) -> SearchSettings:
        """Return those that serve language models too."""
        return SearchSettings.model_validate(self.model_dump(include=set(SearchSettings.model_fields)))
