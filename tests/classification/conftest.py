"""A classifier that is trained once."""

from pathlib import Path

import pytest
from tests.classification.documents import small_recipe

from dragoman.classification.fitting import fit_classifier


@pytest.fixture(scope="session")
def classifier_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a small classifier and give its run."""
    folder = tmp_path_factory.mktemp("classifier")
    fit_classifier(small_recipe(folder), folder / "run")
    return folder / "run"
