"""How Marian searches, by its decoder.yml, is how the run does."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.pretrained.test_marian import write_raw

from dragoman.errors import ImportModelError
from dragoman.pretrained.job import import_model
from dragoman.runs.folder import open_run


def search_in(folder: Path, **given: Any) -> Path:
    """Write a model whose decoder.yml has some entries; None leaves one out."""
    write_raw(folder)
    table = yaml.safe_load((folder / "decoder.yml").read_text()) | given
    kept = {name: value for name, value in table.items() if value is not None}
    (folder / "decoder.yml").write_text(yaml.safe_dump(kept))
    return folder


@pytest.mark.parametrize(("given", "penalty"), [(0.6, 0.6), (1, 1.0), (None, 0.0)])
def test_the_search_is_marians(given: float | None, penalty: float, tmp_path: Path) -> None:
    heard: list[str] = []
    folder = search_in(tmp_path / "opus", normalize=given, **{"word-penalty": 0.1, "beam-size": 4})
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"), say=heard.append)
    found = open_run(tmp_path / "run").recipe.decoding
    assert (found.beam, found.length_normalisation, found.length_penalty) == (4, "average", penalty)
    assert any("not taken over: `word-penalty`;" in one for one in heard)


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("beam-size", value) for value in (0, "six", [6], True)), *(("normalize", value) for value in ("yes", -1, [1]))],
)
def test_a_search_that_is_no_number_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    folder = search_in(tmp_path / "opus", **{name: value})
    with pytest.raises(ImportModelError, match=rf"decoder\.yml: `{name}` is .*number"):
        import_model(str(folder), tmp_path / "run", languages=("en", "vi"))
