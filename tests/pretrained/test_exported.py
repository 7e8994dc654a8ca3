"""Imported models translate in CTranslate2 as they do here, asked in the same way."""

from pathlib import Path

import pytest
from tests.pretrained.folders import write_model
from tests.pretrained.test_marian import write_raw
from tests.slow import some
from tests.tiny import dragoman

pytest.importorskip("ctranslate2")

WAY = ("--from", "en", "--to", "vi")
SENTENCES = b"I love cats.\nThe cat sits on the mat.\n\nNo.\n"


@pytest.mark.parametrize(
    ("name", "options"),
    some([("t5", (*WAY, "--source-prefix", "en: ")), ("pegasus", WAY), ("raw", WAY)], [("raw", WAY)]),
)
def test_an_export_of_an_imported_model_needs_no_more_languages_than_the_run(
    name: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    model, run, export = (tmp_path / one for one in ("model", "run", "export"))
    if name == "raw":
        write_raw(model)
    else:
        write_model(model, name)
    assert dragoman("import", model, "--out", run, *options).code == 0
    assert dragoman("export", run, export, "--quantization", "float32").code == 0
    own, other = (dragoman("translate", one, "--set", "method=greedy", stdin=SENTENCES) for one in (run, export))
    assert (own.code, other.code) == (0, 0), other.errors
    assert own.output == other.output and own.output.count("\n") == 4
