"""Dragoman: train, evaluate and inspect translators from your own parallel text.

>>> import dragoman
>>> translator = dragoman.Translator.load("runs/demo")  # doctest: +SKIP
>>> translator.translate(["I love cats."])[0].text  # doctest: +SKIP
'Tôi yêu mèo.'
"""

from typing import TYPE_CHECKING

from dragoman.lazy import importer as _importer

if TYPE_CHECKING:
    from dragoman.classification.classifier import Classifier
    from dragoman.continuing import Continuer
    from dragoman.errors import DragomanError
    from dragoman.filling import Filler
    from dragoman.fitting import fit
    from dragoman.reading import Reading
    from dragoman.recipe import Recipe, load_recipe
    from dragoman.run import Run, open_run
    from dragoman.translation import Translation
    from dragoman.translator import Translator

__all__ = [
    "Classifier",
    "Continuer",
    "DragomanError",
    "Filler",
    "Reading",
    "Recipe",
    "Run",
    "Translation",
    "Translator",
    "fit",
    "load_recipe",
    "open_run",
]

_PLACES = {
    "Classifier": "classification.classifier",
    "Continuer": "continuing",
    "DragomanError": "errors",
    "Filler": "filling",
    "Reading": "reading",
    "Recipe": "recipe",
    "Run": "run",
    "Translation": "translation",
    "Translator": "translator",
    "fit": "fitting",
    "load_recipe": "recipe",
    "open_run": "run",
}

__getattr__ = _importer(__name__, _PLACES)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
