"""A run is loaded as a command's options say."""

from pathlib import Path

import pytest
from tests.tiny import Trained

from dragoman.cli.loading import load_translator
from dragoman.errors import RunError


def test_options_change_the_settings_of_the_run(trained: Trained) -> None:
    loaded = load_translator(trained("rnn"), device="cpu", beam=2, length_penalty=0.5)
    assert (loaded.settings.beam, loaded.settings.length_penalty, loaded.device.type) == (2, 0.5, "cpu")
    assert loaded.settings.minimum_length == 2  # the recipe's


def test_an_ensemble_says_where_its_runs_would_search_otherwise(
    trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    first, other = trained("rnn"), trained("transformer", "decoding.no_repeat_ngram=3", "decoding.beam=2")
    load_translator(first, other, device="cpu", no_repeat_ngram=0)
    said = capsys.readouterr().err
    assert f"searches as {first} does; {other} alone would have another `beam`." in said
    load_translator(first, first, device="cpu")
    assert "searches as" not in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a complete run"):
        load_translator(tmp_path, device="cpu")
