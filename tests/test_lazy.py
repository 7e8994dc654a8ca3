"""Names of a package that are imported when they are first used."""

import pytest

from dragoman.lazy import importer


def test_a_name_is_fetched_from_its_module_or_under_another_name() -> None:
    fetch = importer("dragoman", {"DragomanError": "errors", "Mistake": "errors:InputError"})
    from dragoman.errors import DragomanError, InputError

    assert fetch("DragomanError") is DragomanError and fetch("Mistake") is InputError


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"`dragoman`.*`Nothing`"):
        importer("dragoman", {})("Nothing")
