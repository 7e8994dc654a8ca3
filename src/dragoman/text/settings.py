"""Settings of how text becomes pieces."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from dragoman.settings import Settings
from dragoman.text.unknown import positional_pieces
from dragoman.text.vocabulary import SPECIAL


class SentencePieceSettings(Settings):
    """Subwords, learned by SentencePiece."""

    kind: Literal["sentencepiece"] = "sentencepiece"
    """Tokeniser: sentencepiece, words or characters."""
    algorithm: Literal["bpe", "unigram"] = "bpe"
    """Byte pair encoding (Sennrich et al. 2016) or a unigram language model (Kudo 2018)."""
    size: int = Field(default=8000, ge=5)
    """Pieces in the vocabulary, the four special ones included."""
    joint: bool = True
    """One vocabulary for both languages."""
    sampling: float = Field(default=0.0, ge=0)
    """Cut words anew in every epoch. bpe: chance that a merge is dropped (Provilkov et al. 2020 use 0.1). unigram:
    temperature, the inverse of alpha in Kudo 2018. 0 cuts always the same way."""
    lower: bool = False
    """Fold text to lower case."""
    character_coverage: float = Field(default=1.0, gt=0.9, le=1)
    """Share of the characters of the text that get a piece; the rarest become <unk>."""

    @model_validator(mode="after")
    def _check(self) -> "SentencePieceSettings":
        if self.algorithm == "bpe" and self.sampling >= 1:
            raise ValueError(f"`text.sampling` is {self.sampling}, but the chance to drop a merge must be below 1")
        return self


class WordsSettings(Settings):
    """Words and punctuation marks."""

    sampling: ClassVar[float] = 0.0
    kind: Literal["words"] = "words"
    """Tokeniser: sentencepiece, words or characters."""
    size: int | None = Field(default=None, ge=5)
    """Most pieces in a vocabulary, the four special ones included; the most frequent are kept."""
    minimum_count: int = Field(default=2, ge=1)
    """A word seen less often becomes <unk>."""
    unknown: Literal["plain", "positional"] = "plain"
    """positional: an unknown word tells where in the source the word stands that it translates, which then replaces it
    (PosUnk of Luong et al. 2015); this needs word links of every training corpus. dev_loss counts each as <unk>."""
    reach: int = Field(default=7, ge=0)
    """positional: how many positions before or after its own that word may be."""
    joint: bool = False
    """One vocabulary for both languages."""
    lower: bool = False
    """Fold text to lower case."""

    @model_validator(mode="after")
    def _check(self) -> "WordsSettings":
        needed = len(SPECIAL) + len(self.positional) + 1
        if self.size is not None and self.size < needed:
            raise ValueError(
                f"`text.size` is {self.size}, but {needed - 1} pieces are taken before the first word; set at least {needed}"
            )
        return self

    @property
    def positional(self) -> list[str]:
        """Names of the unknown words that tell where they come from."""
        return positional_pieces(self.reach) if self.unknown == "positional" else []


class CharactersSettings(Settings):
    """Single characters."""

    sampling: ClassVar[float] = 0.0
    kind: Literal["characters"] = "characters"
    """Tokeniser: sentencepiece, words or characters."""
    size: int | None = Field(default=None, ge=5)
    """Most pieces in a vocabulary, the four special ones included; the most frequent are kept."""
    minimum_count: int = Field(default=1, ge=1)
    """A character seen less often becomes <unk>."""
    joint: bool = False
    """One vocabulary for both languages."""
    lower: bool = False
    """Fold text to lower case."""


TextSettings = Annotated[SentencePieceSettings | WordsSettings | CharactersSettings, Field(discriminator="kind")]
"""How text becomes pieces, for both languages alike."""
