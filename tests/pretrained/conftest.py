"""What several tests of pretrained models share."""

import pytest
from tests.pretrained.folders import Models


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Import random models, each once."""
    return Models(tmp_path_factory.mktemp("imported"))
