"""Turn hypotheses into text, with source words in place of unknown ones. Does not import torch until needed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.inference.translation import Translation
from dragoman.text.codec import Codec
from dragoman.text.unknown import offset_of


@dataclass(frozen=True)
class Speller:
    """Turns hypotheses into text. `own` has translations of single words, or is a file of them, which need not exist."""

    source: Codec
    target: Codec
    own: Mapping[str, str] | Path
    _dictionaries: dict[Path | None, Mapping[str, str]] = field(default_factory=dict)

    def translation(
        self,
        source: str,
        found: list[Hypothesis],
        *,
        dictionary: Path | None,
        readings: list[Any] | None,
        replaces: bool,
    ) -> Translation:
        """Return the translation of a sentence with its alternatives; an empty one if nothing was found.

        `readings` are the attention maps of all, if requested. Unknown words that say where they come from are
        replaced by words of the source, or by their translations in `dictionary`, which goes before `own`; others are only
        where `replaces` is set, by what a reading says.
        """
        made = []
        for number, one in enumerate(found):
            reading = readings[number] if readings else None
            text = self._spell(source, one.ids, dictionary, reading=reading if replaces else None)
            made.append(Translation(text, one.score, one.log_prob, (), reading, one.token_log_probs, tuple(one.ids)))
        return replace(made[0], alternatives=tuple(made[1:])) if made else Translation("", 0.0, 0.0)

    def has_unknown(self, ids: list[int]) -> bool:
        """Tell whether a hypothesis has unknown words, also such as say where they come from: that may be beyond the source."""
        placed = self.target.pieces(ids) if self.target.positional else []
        return self.target.special.unk in ids or any(offset_of(piece) is not None for piece in placed)

    def _spell(self, source: str, ids: list[int], dictionary: Path | None, *, reading: Any) -> str:
        """Return the text of a hypothesis."""
        unknown = self.target.special.unk
        if not self.target.positional and (reading is None or unknown not in ids):
            return self.target.decode(ids)
        from dragoman.decoding.unknown import replace_positional, replace_unknown

        words, name = self.target.pieces(ids), self.target.pieces([unknown])[0]
        given, known = self.source.split(source), self.dictionary(dictionary)
        words = replace_positional(words, given, unknown=name, dictionary=known)
        if reading is not None:
            words = replace_unknown(words, reading.mean_of_text(), given, unknown=name, dictionary=known)
        return self.target.join(words)

    def dictionary(self, given: Path | None) -> Mapping[str, str]:
        """Return translations of single words: those of the file `given`, then the run's own."""
        if given not in self._dictionaries:
            from dragoman.data.unknown import read_dictionary

            own = self.own
            if isinstance(own, Path):
                own = read_dictionary(own) if own.exists() else {}
            self._dictionaries[given] = {**own, **(read_dictionary(given) if given else {})}
        return self._dictionaries[given]
