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
    from dragoman.errors import DragomanError
    from dragoman.inference.attention_map import AttentionMap
    from dragoman.inference.confidence.assessor import Assessor
    from dragoman.inference.ctranslate2.translator import ExportedTranslator
    from dragoman.inference.engines import load_translator
    from dragoman.inference.generator import TextGenerator
    from dragoman.inference.mask_filler import MaskFiller
    from dragoman.inference.translation import Translation
    from dragoman.inference.translator import Translator
    from dragoman.jobs.train import fit
    from dragoman.runs.folder import Run, open_run
    from dragoman.runs.recipe import Recipe, load_recipe
    from dragoman.text.frames import Between

__all__ = [
    "Assessor",
    "AttentionMap",
    "Between",
    "Classifier",
    "DragomanError",
    "ExportedTranslator",
    "MaskFiller",
    "Recipe",
    "Run",
    "TextGenerator",
    "Translation",
    "Translator",
    "fit",
    "load_recipe",
    "load_translator",
    "open_run",
]

_PLACES = {
    "Assessor": "inference.confidence.assessor",
    "Classifier": "classification.classifier",
    "TextGenerator": "inference.generator",
    "DragomanError": "errors",
    "ExportedTranslator": "inference.ctranslate2.translator",
    "MaskFiller": "inference.mask_filler",
    "AttentionMap": "inference.attention_map",
    "Between": "text.frames",
    "Recipe": "runs.recipe",
    "Run": "runs.folder",
    "Translation": "inference.translation",
    "Translator": "inference.translator",
    "fit": "jobs.train",
    "load_recipe": "runs.recipe",
    "load_translator": "inference.engines",
    "open_run": "runs.folder",
}

_OLD_NAMES = {
    "Continuer": "inference.generator:TextGenerator",
    "Filler": "inference.mask_filler:MaskFiller",
    "Reading": "inference.attention_map:AttentionMap",
}
"""Names of earlier releases, which keep working."""

__getattr__ = _importer(__name__, _PLACES | _OLD_NAMES)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
