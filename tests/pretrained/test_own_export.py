"""What was exported for Hugging Face is imported again: the same run, whatever the library has done with its files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.jobs.test_mixing import texts
from tests.pretrained.odd_text import ODD
from tests.pretrained.test_huggingface import QUICK, RUNS, SOURCES, load, loud, recipe_of
from tests.slow import some
from tests.tiny import Trained, dragoman, refusal
from torch import Tensor

from dragoman.errors import ImportModelError
from dragoman.inference.translator import Translator
from dragoman.jobs.adapt import AdaptationSettings, adapt
from dragoman.jobs.verdict import judge
from dragoman.pretrained import huggingface_proof
from dragoman.pretrained import proof as proofs
from dragoman.pretrained.huggingface import export
from dragoman.pretrained.job import import_model
from dragoman.pretrained.proof import ROUNDING
from dragoman.runs.folder import ORIGINAL, open_run

TARGETS = ["Tôi yêu mèo.", "Không.", "Con mèo.", "mèo"]
GUIDED = (
    'training.guided={"layer": 1, "head": 2, "links": "learned", "shift": true}',
    "decoding.beam=2",
    "decoding.no_repeat_ngram=3",
)


@pytest.fixture(autouse=True)
def short_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the first tokens of translations: those of random weights do not end."""
    monkeypatch.setattr(huggingface_proof, "WRITTEN", 12)


def there_and_back(run: Path, folder: Path) -> Path:
    """Export a run and import it again."""
    export(run, folder / "export")
    made = import_model(str(folder / "export"), folder / "again")
    assert made.proof is not None and made.proof.logits < ROUNDING and made.proof.sentences > 0
    return folder / "again"


def maps(run: Path) -> list[Tensor]:
    """Return the attention of some pairs."""
    return [one.weights for one in Translator.load(run, device="cpu").attention_maps(SOURCES, TARGETS)]


@pytest.mark.parametrize("name", some(RUNS, (*QUICK, "pre, target, two vocabularies")))
def test_the_run_comes_back(name: str, trained: Trained, tmp_path: Path) -> None:
    run = loud(trained("transformer", *recipe_of(name)), tmp_path / "run")
    again = there_and_back(run, tmp_path)
    before, after = open_run(run), open_run(again)
    for text in (*ODD, *TARGETS):
        for one, other in ((before.source, after.source), (before.target, after.target)):
            assert one.encode(text) == other.encode(text), text
            assert one.decode(one.encode(text)) == other.decode(other.encode(text))
    assert before.recipe.text == after.recipe.text and before.recipe.decoding == after.recipe.decoding
    assert before.languages == after.languages and ORIGINAL not in after.manifest
    found, expected = (
        [(one.ids, one.text) for one in Translator.load(one, device="cpu").translate(SOURCES, maximum_length=15)]
        for one in (again, run)
    )
    assert found == expected
    for one, other in zip(maps(again), maps(run), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["pre", pytest.param("post", marks=pytest.mark.slow)])
def test_commands_look_inside_as_before(norm: str, trained: Trained, tmp_path: Path) -> None:
    run = trained("transformer", f"model.norm={norm}", *GUIDED)
    assert dragoman("export", run, tmp_path / "export", "--to", "huggingface").code == 0
    made = dragoman("import", tmp_path / "export", "--from", "en", "--to", "vi", "--out", tmp_path / "again")
    assert (made.code, made.lines) == (0, [str(tmp_path / "again")]) and "Proved" in made.errors
    again = tmp_path / "again"
    (tmp_path / "a.en").write_text("I love cats .\nNo .\n", encoding="utf-8")
    (tmp_path / "a.vi").write_text("Tôi yêu mèo .\nKhông .\n", encoding="utf-8")
    for command in (
        ("translate", "--align"),
        ("align", tmp_path / "a.en", tmp_path / "a.vi"),
        ("align", tmp_path / "a.en", tmp_path / "a.vi", "--layer", "2"),
    ):
        outcomes = [
            dragoman(command[0], one, *command[1:], stdin="I love cats.\nWe see a dog.\n") for one in (again, run)
        ]
        assert outcomes[0].output == outcomes[1].output and outcomes[0].code == 0, outcomes
    scores = [dragoman("score", one, tmp_path / "a.en", tmp_path / "a.vi") for one in (again, run)]
    scored, wanted = ([float(line) for line in one.lines] for one in scores)
    assert scored == pytest.approx(wanted, rel=1e-5) and len(scored) == 2  # features in another order round otherwise
    for attention in ("cross", "encoder", "decoder"):
        pages = []
        for place in (again, run):
            page = tmp_path / f"{place.name}-{attention}.svg"
            found = dragoman(
                "attend", place, "I love cats.", "--target", "Tôi yêu mèo.", "--attention", attention, "-o", page
            )
            assert found.code == 0
            pages.append(page.read_text(encoding="utf-8"))
        assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "name",
    some(("pre, all", "post, all", "post, none", "pre, target, two vocabularies"), ("pre, all",)),
)
def test_what_the_library_saved_since_is_imported(name: str, trained: Trained, tmp_path: Path) -> None:
    run = loud(trained("transformer", *recipe_of(name)), tmp_path / "run")
    tokenizer, model = load(export(run, tmp_path / "export")[0])
    with torch.no_grad():
        model.model.decoder.layers[0].fc1.bias.add_(0.1)
    model.save_pretrained(tmp_path / "tuned")
    tokenizer.save_pretrained(tmp_path / "tuned")
    made = import_model(str(tmp_path / "tuned"), tmp_path / "again")
    assert made.proof is not None and made.proof.logits < ROUNDING and made.proof.sentences > 0
    before, after = open_run(run), open_run(tmp_path / "again")
    bias = "decoder.layers.0.feed_forward.inner.bias"
    changed, old = (one.load_model(torch.device("cpu")).get_parameter(bias) for one in (after, before))
    torch.testing.assert_close(changed, old + 0.1)
    assert (before.source, before.target) == (after.source, after.target) or before.recipe.text == after.recipe.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pre, unigram", pytest.param("post, none", marks=pytest.mark.slow)])
def test_it_can_be_exported_again_and_adapted(name: str, trained: Trained, tmp_path: Path) -> None:
    again = there_and_back(loud(trained("transformer", *recipe_of(name)), tmp_path / "run"), tmp_path)
    folder, proof = export(again, tmp_path / "export-2")
    assert proof is not None
    first, second = (json.loads((one / "config.json").read_text()) for one in (tmp_path / "export", folder))
    assert first == second
    few = ("training.steps=2", "training.threads=1", "training.device=cpu", "decoding.maximum_length=12")
    adapt(again, texts(tmp_path / "domain"), tmp_path / "adapted", settings=AdaptationSettings(assignments=few))
    assert judge(tmp_path / "adapted").domain.sentences == 12


def test_several_languages_come_back(trained: Trained, tmp_path: Path) -> None:
    pairs = '[{"phrasebook": "train", "pairs": 60, "languages": ["en", "vi"], "both_ways": true}]'
    changes = (f"data.train={pairs}", f"data.dev={pairs}", "data.test=[]", 'data.languages=["en", "vi"]')
    run = loud(trained("transformer", *changes), tmp_path / "run")
    again = there_and_back(run, tmp_path)
    assert set(open_run(again).directions.trained) == {("en", "vi"), ("vi", "en")}
    for to in ("vi", "en"):
        found, expected = (
            [one.ids for one in Translator.load(one, device="cpu").translate(SOURCES, to=to, maximum_length=15)]
            for one in (again, run)
        )
        assert found == expected


def _changed(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Return what changes a JSON file of an export."""

    def apply(folder: Path) -> None:
        table = json.loads((folder / name).read_text(encoding="utf-8"))
        change(table)
        (folder / name).write_text(json.dumps(table), encoding="utf-8")

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _changed("tokenizer.json", lambda table: table["normalizer"]["normalizers"].pop()),
            r"is not the tokeniser that",
        ),
        (_changed("tokenizer.json", lambda table: table["model"]["merges"].pop()), r"is not the tokeniser that"),
        (_changed("tokenizer.json", lambda table: table.pop("model")), r"tokenizer\.json is damaged"),
        (_changed("config.json", lambda table: table["dragoman"].pop("text")), r"entry `dragoman` .* is damaged"),
        (_changed("config.json", lambda table: table.update(dragoman=1)), r"entry `dragoman` .* is damaged"),
    ],
)
def test_a_changed_export_is_refused(
    change: Callable[[Path], None], message: str, trained: Trained, tmp_path: Path
) -> None:
    export(trained("transformer"), tmp_path / "export")
    change(tmp_path / "export")
    with pytest.raises(ImportModelError, match=message):
        import_model(str(tmp_path / "export"), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_what_computes_something_else_is_not_kept(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(trained("transformer"), tmp_path / "export")
    monkeypatch.setattr(proofs, "ROUNDING", -1.0)
    with pytest.raises(ImportModelError, match=r"export was not imported: logits differ"):
        import_model(str(tmp_path / "export"), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_options_that_do_not_apply_are_refused(trained: Trained, tmp_path: Path) -> None:
    export(trained("transformer"), tmp_path / "export")
    place = (tmp_path / "export", "--out", tmp_path / "again")
    assert "does not know `--from fr`" in refusal("import", *place, "--from", "fr")
    prefix = refusal("import", *place, "--from", "en", "--to", "vi", "--source-prefix", "en: ")
    assert "only for T5" in prefix


def test_settings_of_search_that_the_library_lacks_are_named(trained: Trained, tmp_path: Path) -> None:
    said: list[str] = []
    export(trained("transformer", "decoding.mbr_samples=4"), tmp_path / "export", say=said.append)
    export(trained("transformer"), tmp_path / "plain", say=said.append)
    assert [one for one in said if "searches without" in one] == [
        "`transformers` searches without the run's `mbr_samples`, which it does not have."
    ]
