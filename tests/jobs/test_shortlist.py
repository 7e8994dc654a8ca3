"""Shortlists: what is outside never comes out, a list of all words changes nothing."""

from collections import Counter
from pathlib import Path
from shutil import copytree

import pytest
import torch
from tests.tiny import MODELS, Trained, dragoman, refusal

from dragoman.conversion.job import export
from dragoman.data.collate import pad
from dragoman.data.corpus import read_pairs
from dragoman.decoding.hypotheses import SearchStep, Unwatched
from dragoman.decoding.shortlist import Shortlist
from dragoman.errors import InputError, RunError, SettingsError
from dragoman.inference.requests import EncodedRequest, Request
from dragoman.inference.torch_engine import TorchEngine
from dragoman.inference.translator import Translator
from dragoman.interfaces import BOS, EOS
from dragoman.jobs.shortlist import make_shortlist
from dragoman.runs.folder import SHORTLIST, open_run

SOURCES = ["I love cats.", "", "The cat sits on the mat near the old school.", "No."]


@pytest.fixture
def run(trained: Trained, tmp_path: Path) -> Path:
    """A run of one's own, with a shortlist."""
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    make_shortlist(folder, likely=4, frequent=9)
    return folder


@pytest.mark.parametrize("options", [{}, {"n_best": 3}, {"method": "greedy"}, {"method": "sample", "seed": 3}], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_a_list_of_all_words_changes_nothing(trained: Trained, model: str, options: dict[str, object]) -> None:
    translator = Translator.load(trained(model), **options)
    free = translator.translate(SOURCES)
    words = len(translator.target)
    shortlist = Shortlist(torch.arange(words), torch.zeros(len(translator.source), 1, dtype=torch.long))
    engine = TorchEngine(translator.engine.session, shortlist=shortlist)
    listing = Translator(engine, translator.source, translator.target, settings=translator.settings)
    listed = listing.translate(SOURCES, shortlist=True)
    for one, other in zip(free, listed, strict=True):
        assert [one.text, *(a.text for a in one.alternatives)] == [other.text, *(a.text for a in other.alternatives)]
        assert one.score == pytest.approx(other.score, abs=1e-5)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_only_listed_words_are_written(run: Path, precision: str) -> None:
    translator = Translator.load(run, shortlist=True, n_best=3, minimum_length=4, precision=precision)
    shortlist = open_run(run).load_shortlist(torch.device("cpu"))
    encoded = translator.encode(SOURCES, "source")
    for text, ids in zip(SOURCES, encoded, strict=True):
        (best,) = translator.translate([text])
        allowed = set(shortlist.union(torch.tensor([[*ids, 2]])).tolist())
        assert len(allowed) < len(translator.target) / 2
        (found,) = translator.engine.search([EncodedRequest(Request(text), (ids,))], translator.settings)
        assert {token for one in found for token in one.ids} <= allowed
        assert (best.text == "") == (text == "")


def test_whoever_watches_sees_what_will_be_written(run: Path) -> None:
    translator = Translator.load(run, shortlist=True, minimum_length=4)
    finished: dict[int, list[list[int]]] = {}

    class Mine(Unwatched):
        def see(self, step: SearchStep) -> None:
            finished.update({row: [one.ids for one in some] for row, some in step.completed.items()})

    found = translator.translate_requests(translator.requests(SOURCES), translator.settings, watch=Mine())
    assert [list(one.ids) for one in found if one.ids] == [finished[at][0] for at, one in enumerate(found) if one.ids]


@pytest.mark.parametrize("options", [{}, {"method": "greedy"}, {"method": "sample"}], ids=str)
def test_the_other_sentences_of_a_batch_do_not_change_a_translation(run: Path, options: dict[str, object]) -> None:
    translator = Translator.load(run, shortlist=True, minimum_length=4, **options)
    together = translator.translate(SOURCES)
    for number, (text, found) in enumerate(zip(SOURCES, together, strict=True), 1):
        (alone,) = translator.translate([text], first=number)
        assert alone.text == found.text
        assert alone.log_prob == pytest.approx(found.log_prob, abs=1e-4)


def test_the_source_decides_what_is_listed(run: Path) -> None:
    listed = open_run(run).load_shortlist(torch.device("cpu"))
    short, long = (listed.union(torch.tensor([ids])) for ids in ([20], [20, 30, 40]))
    assert short[:4].tolist() == [0, 1, 2, 3]
    assert short.tolist() == sorted(short.tolist())
    assert set(listed.always.tolist()) | set(listed.likely[20].tolist()) == set(short.tolist()) < set(long.tolist())


def test_probabilities_are_the_models_own_shared_out_among_the_listed_words(run: Path) -> None:
    translator = Translator.load(run, shortlist=True, minimum_length=4, n_best=3)
    encoded = translator.encode(["I love cats."], "source")
    source = pad(encoded)
    (found,) = translator.engine.search([EncodedRequest(Request("I love cats."), tuple(encoded))], translator.settings)
    kept = open_run(run).load_shortlist(torch.device("cpu")).union(source.ids)
    decoder = translator.models[0].decoder
    for one in found:
        target = torch.tensor([[BOS, *one.ids, EOS]])
        with torch.no_grad():
            output, _ = decoder(target[:, :-1], decoder.start(translator.models[0].encoder(source)))
            log_probs = output.logits[0, :, kept].log_softmax(-1)
        places = torch.searchsorted(kept, target[0, 1:])
        assert one.log_prob == pytest.approx(float(log_probs.gather(1, places[:, None]).sum()), abs=1e-4)
    ((whole, _),) = translator.score(["I love cats."], [translator.target.decode(found[0].ids)])
    assert whole < found[0].log_prob


def test_a_list_for_other_vocabularies_is_refused(run: Path, trained: Trained) -> None:
    other = Path(copytree(trained("transformer", "text.size=290"), run.parent / "other"))
    (other / SHORTLIST).write_bytes((run / SHORTLIST).read_bytes())
    with pytest.raises(RunError, match="belongs to other vocabularies than this run's; make it again with"):
        Translator.load(other, shortlist=True)


def test_a_list_that_cannot_be_written_is_refused_before_any_text_is_read(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run / SHORTLIST).unlink()
    (run / SHORTLIST).mkdir()
    monkeypatch.delattr("dragoman.jobs.shortlist.PairFilter")
    with pytest.raises(InputError, match=rf"{SHORTLIST} cannot be written \(Is a directory\)"):
        make_shortlist(run)


@pytest.mark.slow
def test_an_output_that_is_a_sum_takes_no_list(trained: Trained) -> None:
    folder = trained("rnn", "model.marginal=true")
    with pytest.raises(InputError, match=r"`model\.marginal`"):
        make_shortlist(folder)
    with pytest.raises(SettingsError, match=r"decoding\.shortlist.*`model\.marginal`"):
        Translator.load(folder, shortlist=True)


def test_an_export_takes_no_list(run: Path) -> None:
    export(run, quantization="float32")
    assert "decoding.shortlist" in refusal(
        "translate", run, "--set", "shortlist=true", "--engine", "ctranslate2", stdin="No.\n"
    )
    assert dragoman("translate", run, "--set", "shortlist=true", stdin="No.\n").lines == [
        Translator.load(run, shortlist=True).translate(["No."])[0].text
    ]


def test_frequent_words_may_always_be_written(trained: Trained, tmp_path: Path) -> None:
    folder = Path(copytree(trained("transformer"), tmp_path / "run"))
    run = open_run(folder)
    pairs = [pair for corpus in run.recipe.data.train for pair in read_pairs(corpus, run.recipe.data)]
    counts = Counter(token for pair in pairs for token in run.target.encode(pair.target))
    often = {token for token, _ in counts.most_common(30)}
    assert often <= set(make_shortlist(folder, likely=1, frequent=40).always.tolist())
    assert not often <= set(make_shortlist(folder, likely=1, frequent=0).always.tolist())
