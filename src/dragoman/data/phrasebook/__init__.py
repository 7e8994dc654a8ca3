"""The built-in corpus: a synchronous grammar that derives English-Vietnamese and English-French pairs, words aligned.

One tree says what a sentence means (`syntax`); `english`, `vietnamese` and `french` each put it into words, and words
of the same meaning are aligned. Patterns draw trees (`statements`, `states`, `questions`), `grammar` splits them.
"""

from dragoman.data.phrasebook.derivation import LANGUAGES, Example, derivable, derive
from dragoman.data.phrasebook.grammar import Split, patterns
from dragoman.data.phrasebook.tokens import split_words

__all__ = ["LANGUAGES", "Example", "Split", "derivable", "derive", "patterns", "split_words"]
