"""Settings of tokenisation."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from dragoman.settings import Settings
from dragoman.text.unknown import positional_pieces
from dragoman.text.vocabulary import SPECIAL


class GlossarySettings(Settings):
    """Training on sources in which some terms are replaced by their translations, as `--glossary` later does with its own."""

    share: float = Field(default=0.1, gt=0, le=1)
    """Share of the training pairs with such terms, drawn anew in every epoch. The terms are random words and phrases that word
    alignments link to target words, so no glossary is needed (Dinu et al. 2019; Bergmanis and Pinnis 2021)."""


class SentencePieceSettings(Settings):
    """Subwords, learned by SentencePiece."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    """Tokeniser: sentencepiece, words or characters."""
    algorithm: Literal["bpe", "unigram"] = "bpe"
    """Byte-pair encoding (Sennrich et al. 2016) or a unigram language model (Kudo 2018)."""
    size: int = Field(default=8000, ge=5)
    """Vocabulary size, including the four special tokens."""
    joint: bool = True
    """Share one vocabulary between both languages."""
    sampling: float = Field(default=0.0, ge=0)
    """Subword regularisation: segment words differently in every epoch. bpe: probability of dropping a merge (Provilkov et al.
    2020 use 0.1). unigram: temperature, the inverse of alpha in Kudo 2018. 0 turns it off."""
    sampling_target: float | None = Field(default=None, ge=0)
    """The same for target sentences, if it differs there; 0 samples only sources."""
    sampling_epochs: int | None = Field(default=None, ge=1)
    """Number of epochs with `sampling`; later ones have the usual segmentation, as translation does."""
    inline_casing: bool = False
    """Make the capital that begins a sentence a token of its own, so that `The` and `the` are one word to the model (after Bérard
    et al. 2019). Words that usually have a capital keep it."""
    lower: bool = False
    """Lowercase all text."""
    right_to_left: bool = False
    """Write translations from their last token to the first; such a run can rerank others (Liu et al. 2016)."""
    glossary: GlossarySettings | None = None
    """Put translations of some terms into training sources, so that the model learns to follow a glossary."""
    character_coverage: float = Field(default=1.0, gt=0.9, le=1)
    """Share of the text's characters that the vocabulary covers; the rarest become <unk>."""

    @model_validator(mode="after")
    def _check(self) -> "SentencePieceSettings":
        for name in ("sampling", "sampling_target"):
            rate = getattr(self, name)
            if self.algorithm == "bpe" and rate is not None and rate >= 1:
                raise ValueError(f"`text.{name}` is {rate}, but the chance to drop a merge must be below 1")
        if self.lower and self.inline_casing:
            raise ValueError("`text.lower` leaves no capitals for `text.inline_casing`; set only one of them")
        return self


class WordsSettings(Settings):
    """Words and punctuation marks."""

    sampling: ClassVar[float] = 0.0
    sampling_target: ClassVar[float | None] = None
    sampling_epochs: ClassVar[int | None] = None
    kind: Literal["words"] = "words"
    """Tokeniser: sentencepiece, words or characters."""
    size: int | None = Field(default=None, ge=5)
    """Maximum vocabulary size, including the four special tokens; the most frequent tokens are kept."""
    minimum_count: int = Field(default=2, ge=1)
    """Words seen less often become <unk>."""
    unknown: Literal["plain", "positional"] = "plain"
    """positional: an unknown word points to the source word that it translates, which then replaces it (PosUnk of Luong et al.
    2015); every training corpus needs word alignments. dev_loss counts each as <unk>."""
    reach: int = Field(default=7, ge=0)
    """positional: maximum distance of that source word, in positions."""
    joint: bool = False
    """Share one vocabulary between both languages."""
    lower: bool = False
    """Lowercase all text."""
    right_to_left: bool = False
    """Write translations from their last token to the first; such a run can rerank others (Liu et al. 2016)."""
    glossary: GlossarySettings | None = None
    """Put translations of some terms into training sources, so that the model learns to follow a glossary."""

    @model_validator(mode="after")
    def _check(self) -> "WordsSettings":
        needed = len(SPECIAL) + len(self.positional) + 1
        if self.size is not None and self.size < needed:
            raise ValueError(
                f"`text.size` is {self.size}, but {needed - 1} tokens come before the first word; set at least {needed}"
            )
        return self

    @property
    def positional(self) -> list[str]:
        """Names of the unknown words that say where they come from."""
        return positional_pieces(self.reach) if self.unknown == "positional" else []


class CharactersSettings(Settings):
    """Single characters."""

    sampling: ClassVar[float] = 0.0
    sampling_target: ClassVar[float | None] = None
    sampling_epochs: ClassVar[int | None] = None
    kind: Literal["characters"] = "characters"
    """Tokeniser: sentencepiece, words or characters."""
    size: int | None = Field(default=None, ge=5)
    """Maximum vocabulary size, including the four special tokens; the most frequent tokens are kept."""
    minimum_count: int = Field(default=1, ge=1)
    """Characters seen less often become <unk>."""
    joint: bool = False
    """Share one vocabulary between both languages."""
    lower: bool = False
    """Lowercase all text."""
    right_to_left: bool = False
    """Write translations from their last token to the first; such a run can rerank others (Liu et al. 2016)."""
    glossary: GlossarySettings | None = None
    """Put translations of some terms into training sources, so that the model learns to follow a glossary."""


class ImportedSettings(Settings):
    """The vocabularies of an imported model, for it and for runs that start from it; they cannot be learned."""

    size: ClassVar[int | None] = None
    sampling: ClassVar[float] = 0.0
    sampling_target: ClassVar[float | None] = None
    sampling_epochs: ClassVar[int | None] = None
    lower: ClassVar[bool] = False
    right_to_left: ClassVar[bool] = False
    glossary: ClassVar[None] = None
    kind: Literal["imported"] = "imported"
    """Tokeniser: that of the imported model."""
    joint: bool = True
    """Share one vocabulary between both languages."""


LearnedTextSettings = Annotated[SentencePieceSettings | WordsSettings | CharactersSettings, Field(discriminator="kind")]
"""How text is tokenised where a vocabulary is learned."""
TextSettings = Annotated[
    SentencePieceSettings | WordsSettings | CharactersSettings | ImportedSettings, Field(discriminator="kind")
]
"""How text is tokenised, for both languages alike."""


def target_sampling(text: TextSettings) -> float:
    """Return the rate of subword regularisation of target sentences."""
    return text.sampling if text.sampling_target is None else text.sampling_target
