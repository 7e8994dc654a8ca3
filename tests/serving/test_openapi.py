"""Routes that read their bodies by hand describe them."""

from dragoman.serving import deepl_shapes, libretranslate_shapes
from dragoman.serving.openapi import FORM, JSON, body, refusals


def test_bodies_are_described_without_references():
    found = body(libretranslate_shapes.Translation, JSON, FORM)["requestBody"]["content"]
    assert set(found) == {JSON, FORM} and "$ref" not in str(found) and "confidence" in str(found)
    assert refusals(deepl_shapes.Problem, (400, 456))[456] == {"model": deepl_shapes.Problem}
