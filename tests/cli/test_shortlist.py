"""`dragoman shortlist`."""

from pathlib import Path
from shutil import copytree

from tests.tiny import Trained, dragoman, refusal

from dragoman.inference.translator import Translator
from dragoman.runs.folder import SHORTLIST


def test_the_command_makes_a_list_that_translating_uses(trained: Trained, tmp_path: Path) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    sentence = refusal("translate", folder, "--set", "shortlist=true", stdin="I love cats.\n")
    assert sentence == f"{folder} has no shortlist; make one with `dragoman shortlist {folder}`"
    made = dragoman("shortlist", str(folder), "--likely", "4", "--frequent", "9", "--pairs", "50")
    assert made.lines == [str(folder / SHORTLIST)]
    translated = dragoman("translate", str(folder), "--set", "shortlist=true", stdin="I love cats.\n\n")
    expected = Translator.load(folder, shortlist=True).translate(["I love cats."])[0].text
    assert translated.lines == [expected, ""]
