"""Text in, text out."""

import math
from pathlib import Path

import pytest
import torch
from tests.tiny import MODELS, Trained, odd_torch

from dragoman.decoding.hypotheses import Hypothesis
from dragoman.errors import InputError, RunError, SettingsError
from dragoman.inference.translator import Translator
from dragoman.models.build import build_model
from dragoman.models.rnn_settings import RecurrentSettings
from dragoman.models.seq2seq import Vocabularies
from dragoman.text.codec import Codec, learn_codecs
from dragoman.text.settings import CharactersSettings, WordsSettings

SOURCES = ["I love cats.", "", "The cat sits on the mat near the old school.", "No.", "  ", "This is a book."]
TARGETS = ["Tôi yêu mèo.", "Không.", "Con mèo ngồi trên tấm thảm.", "", "", "Đây là một quyển sách."]


def texts(translator: Translator, sentences: list[str]) -> list[str]:
    """Translate, and keep the text alone."""
    return [one.text for one in translator.translate(sentences)]


@pytest.mark.parametrize("model", MODELS)
def test_company_does_not_change_a_translation(trained: Trained, model):
    translator = Translator.load(trained(model))
    together = translator.translate(SOURCES)
    for sentence, found in zip(SOURCES, together, strict=True):
        (alone,) = translator.translate([sentence])
        assert alone.text == found.text
        assert alone.log_prob == pytest.approx(found.log_prob, abs=1e-4)


@pytest.mark.parametrize("model", ["rnn", "transformer"])
def test_a_run_is_loaded_whatever_the_caller_has_set_in_torch_and_changes_nothing_of_it(trained: Trained, model):
    usual = texts(Translator.load(trained(model)), SOURCES)
    with odd_torch():
        assert texts(Translator.load(trained(model)), SOURCES) == usual


def test_empty_sentences_give_empty_translations(trained: Trained):
    found = Translator.load(trained("rnn"), n_best=2).translate(["", "\u200b", "\n"])
    assert [(one.text, one.score, one.alternatives, one.reading) for one in found] == [("", 0.0, (), None)] * 3
    assert Translator.load(trained("rnn")).translate([]) == []


def test_alternatives_are_ranked_and_different(trained: Trained):
    (best,) = Translator.load(trained("transformer"), beam=4, n_best=4).translate(["I love cats."])
    scores = [best.score, *(one.score for one in best.alternatives)]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)


def in_other_tokens(codec: Codec, ids: list[int]) -> list[int]:
    """The same text, one of its tokens cut into letters."""
    known = codec.tokenizer.vocabulary
    for place, piece in enumerate(codec.pieces(ids)):
        letters = [known.id(letter) for letter in piece]
        if len(letters) > 1 and codec.special.unk not in letters:
            return [*ids[:place], *letters, *ids[place + 1 :]]
    raise AssertionError("no token of this text can be cut")


@pytest.mark.parametrize("options", [{}, {"mbr_samples": 2}, {"glossary": True}], ids=str)
def test_several_translations_are_different_texts_filled_up_from_the_beam(
    trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    if "glossary" in options:
        (terms := tmp_path / "terms.tsv").write_text("book\tquyển sách\n", encoding="utf-8")
        options = {"glossary": (terms,)}
    translator = Translator.load(trained("transformer"), beam=5)
    first, second, third = (translator.target.encode(text) for text in ("Con mèo.", "Không.", "Đây là một quyển sách."))
    beam = [first, in_other_tokens(translator.target, first), second, in_other_tokens(translator.target, second), third]
    known = [Hypothesis(ids, -1.0 - place, -1.0 - place) for place, ids in enumerate(beam)]
    monkeypatch.setattr(
        translator.engine, "search", lambda requests, settings, **_: [known[: settings.n_best]] * len(requests)
    )
    for wanted, written in ((1, 1), (2, 2), (3, 3), (4, 3)):
        (best,) = translator.translate(["A cat."], n_best=wanted, **options)
        found = [one.text for one in (best, *best.alternatives)]
        assert len(found) == len(set(found)) == written
        if "mbr_samples" not in options:
            assert found == ["Con mèo.", "Không.", "Đây là một quyển sách."][:written]
            assert [one.ids for one in (best, *best.alternatives)] == [(*first,), (*second,), (*third,)][:written]


def test_samples_of_one_text_stay(trained: Trained) -> None:
    (best,) = Translator.load(trained("transformer"), method="sample", n_best=3, top_k=1).translate(["A cat."])
    assert [one.text for one in best.alternatives] == [best.text] * 2


def test_an_ensemble_shares_the_target_alone_and_each_model_reads_the_source_in_its_own_way(trained: Trained):
    subwords = Translator.load(trained("transformer"))
    letters, _ = learn_codecs(CharactersSettings(), lambda: zip(SOURCES, TARGETS, strict=True))
    torch.manual_seed(4)
    model = build_model(
        RecurrentSettings(embedding=8, hidden=8), Vocabularies(len(letters), len(subwords.target))
    ).eval()
    reader = Translator([model], letters, subwords.target)
    together = Translator(
        [*subwords.models, model], subwords.source, subwords.target, sources=[subwords.source, letters]
    )
    alone = [one.score(SOURCES[:1], [""])[0][0] for one in (subwords, reader)]
    assert math.exp(together.score(SOURCES[:1], [""])[0][0]) == pytest.approx(
        sum(math.exp(one) for one in alone) / 2, rel=1e-4
    )
    for found, source in zip(together.translate(SOURCES[:1]), SOURCES[:1], strict=True):
        assert found.log_prob == pytest.approx(together.score([source], [found.text])[0][0], abs=1e-3)


def test_readings_are_kept_where_asked_for(trained: Trained):
    translator = Translator.load(trained("transformer"), n_best=2)
    (without,) = translator.translate(["I love cats."])
    (with_them,) = translator.translate(["I love cats."], attention=True)
    assert without.reading is None
    assert with_them.text == without.text
    for one in (with_them, *with_them.alternatives):
        assert one.reading is not None
        assert one.reading.source.words == ["I", "love", "cats."]


def test_links_count_the_words_of_the_given_source(trained: Trained):
    translator = Translator.load(trained("rnn", "text.kind=words"))
    for source, words in (("I~love ~cats…", ["I~love", "~cats…"]), ("  I  love cats\u00a0§", ["I", "love", "cats §"])):
        (found,) = translator.translate([source], attention=True)
        assert found.reading.source.words == words
        assert "<unk>" in found.reading.source.pieces


def test_a_model_knows_whether_it_attends(trained: Trained):
    plain = Translator.load(trained("rnn", "model.decoder=plain", "model.score=additive", "training.steps=1"))
    assert [Translator.load(trained(model)).attends for model in MODELS] == [True, True]
    assert not plain.attends
    assert len(plain.translate(["I love cats."])) == 1
    with pytest.raises(InputError, match="this model has no attention over the source"):
        plain.translate(["I love cats."], attention=True)


def test_the_end_of_a_sentence_counts_as_a_token(trained: Trained):
    translator = Translator.load(trained("rnn"))
    counts = [tokens for _, tokens in translator.score(SOURCES, TARGETS)]
    assert counts == [len(translator.target.encode(target)) + 1 for target in TARGETS]


def test_sentences_must_come_in_pairs(trained: Trained):
    translator = Translator.load(trained("rnn"))
    for method in (translator.score, translator.attention_maps):
        with pytest.raises(InputError, match="a translation of its own, but there are 1 for 2"):
            method(["a", "b"], ["a"])
    with pytest.raises(InputError, match="a prefix of its own, but there are 0 for 1"):
        translator.complete(["No."], [])


def test_sentences_are_counted_from_the_number_given(trained: Trained):
    run = trained("transformer", "model.positions=learned", "model.max_positions=64", "training.steps=2")
    translator = Translator.load(run)
    assert len(translator.translate(["a " * 20])) == 1
    with pytest.raises(InputError, match=r"source sentence 12 has .* tokens .*, more than the 64 positions"):
        translator.translate(["cats", "cats " * 70], first=11)


def test_decoding_settings_are_those_of_the_run_unless_given(trained: Trained):
    run = trained("rnn")
    assert Translator.load(run).settings.beam == 3
    assert Translator.load(run, beam=None).settings.beam == 3
    assert Translator.load(str(run), beam=2).settings.beam == 2
    with pytest.raises(SettingsError, match="did you mean `beam`"):
        Translator.load(run, beem=2)


def test_a_run_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(RunError, match="there is no run folder"):
        Translator.load(tmp_path / "none")


def test_an_unknown_device_is_refused(trained: Trained):
    with pytest.raises(InputError, match="device `tpu`"):
        Translator.load(trained("rnn"), device="tpu")


def test_a_translation_has_the_log_probability_of_each_token(trained: Trained) -> None:
    translator = Translator.load(trained("transformer"), beam=4, n_best=2)
    for best in translator.translate(["I love cats.", "No."]):
        for one in (best, *best.alternatives):
            assert sum(one.token_log_probs) == pytest.approx(one.log_prob, abs=1e-4)
            assert len(one.token_log_probs) >= len(translator.target.encode(one.text)) > 0


def test_settings_hold_for_one_call(trained: Trained) -> None:
    run = trained("transformer")
    translator = Translator.load(run)
    before = translator.translate(SOURCES)
    for options in ({"beam": 6, "n_best": 2}, {"method": "greedy"}, {"length_penalty": 3.0}, {"precision": "bfloat16"}):
        expected = Translator.load(run, **options).translate(SOURCES)
        assert translator.translate(SOURCES, **options) == expected
        assert translator.translate(SOURCES, settings=Translator.load(run, **options).settings) == expected
    assert translator.translate(SOURCES) == before
    with pytest.raises(SettingsError, match="beem"):
        translator.translate(SOURCES, beem=3)
    with pytest.raises(SettingsError, match=r"`settings` is \{'beam': 3\}"):
        translator.translate(SOURCES, settings={"beam": 3})


def test_a_sample_depends_on_the_seed_and_the_number_of_its_sentence(trained: Trained) -> None:
    translator = Translator.load(trained("rnn"), method="sample", temperature=2.0, n_best=2)
    together = translator.translate(SOURCES)
    for number, (source, found) in enumerate(zip(SOURCES, together, strict=True), 1):
        assert translator.translate([source], first=number)[0].text == found.text
    same = texts(translator, [SOURCES[0]] * 4)
    assert len(set(same)) > 1


def test_more_hypotheses_than_there_is_memory_for_are_refused(trained: Trained) -> None:
    with pytest.raises(InputError) as caught:
        Translator.load(trained("rnn"), beam=1_000_000_000)
    assert "1,000,000,000" in str(caught.value) and "decoding.beam" in str(caught.value)
    with pytest.raises(InputError, match=r"decoding\.n_best"):
        Translator.load(trained("rnn")).translate(["No."], method="sample", n_best=1_000_000_000)
    with pytest.raises(InputError, match=r"decoding\.mbr_samples"):
        Translator.load(trained("rnn"), mbr_samples=1_000_000_000)


def test_a_dictionary_that_nothing_would_read_is_refused(trained: Trained, tmp_path: Path) -> None:
    words = tmp_path / "words.tsv"
    words.write_text("cat\tmèo\n", encoding="utf-8")
    translator = Translator.load(trained("rnn"), dictionary=words)
    with pytest.raises(InputError, match="`dictionary` has no effect"):
        translator.translate(SOURCES)
    assert translator.translate(SOURCES, replace_unknowns=True)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("options", [{}, {"method": "sample", "temperature": 2.0}, {"mbr_samples": 3}, {"beam": 1}])
def test_translations_begin_with_the_words_given(trained: Trained, model: str, options: dict[str, object]) -> None:
    translator = Translator.load(trained(model), **options)  # type: ignore[arg-type]
    prefixes = ["Đây là một", "Tôi", "", "Con mèo", "Tôi", ""]
    together = translator.complete(SOURCES, prefixes, first=3)
    for number, (source, prefix, found) in enumerate(zip(SOURCES, prefixes, together, strict=True), 3):
        assert found.text.startswith(prefix if source.strip() else "")
        (alone,) = translator.complete([source], [prefix], first=number)
        assert alone.text == found.text
        assert alone.log_prob == pytest.approx(found.log_prob, abs=1e-4)
        if not prefix:
            assert found.text == translator.translate([source], first=number)[0].text
    assert translator.complete([], []) == []


def test_words_given_change_nothing_where_they_would_come_anyway(trained: Trained) -> None:
    translator = Translator.load(trained("rnn"), n_best=3)
    free = translator.translate(SOURCES)
    known = [one.text if translator.target.encode(one.text) == list(one.ids) else "" for one in free]
    assert any(known)
    completed = translator.complete(SOURCES, [text.partition(" ")[0] for text in known], attention=True)
    for one, other, text in zip(free, completed, known, strict=True):
        assert (other.text, other.log_prob) == (one.text, pytest.approx(one.log_prob, abs=1e-4))
        assert len(other.alternatives) == len(one.alternatives) and (other.reading is not None) == bool(other.text)
        assert all(alternative.text.startswith(text.partition(" ")[0]) for alternative in other.alternatives)


@pytest.mark.parametrize("options", [{}, {"method": "sample", "seed": 4}, {"beam": 1}])
def test_the_last_word_given_is_not_that_of_a_longer_one(trained: Trained, options: dict[str, object]) -> None:
    translator = Translator.load(trained("rnn"), **options)  # type: ignore[arg-type]
    prefixes = ["C", "Tô", "Anh ấ", "Chú", "Con m", "Tôi c"]
    for prefix, one in zip(prefixes, translator.complete(["I love cats."] * len(prefixes), prefixes), strict=True):
        assert one.text.startswith(prefix) and not one.text[len(prefix) :][:1].isalnum()


def test_words_given_have_limits(trained: Trained) -> None:
    translator = Translator.load(trained("transformer"))
    (free,) = translator.translate(["I love cats."])
    assert translator.complete(["I love cats."], ["\u4e2d Tôi"]) == [free]
    (short,) = translator.complete(["I love cats."], ["Đây là một quyển sách."], maximum_length=2)
    assert "Đây là một quyển sách.".startswith(short.text) and short.text
    (again,) = translator.complete(["I love cats."], ["Tôi Tôi"], no_repeat_ngram=2)
    assert again.text.startswith("Tôi ") and not again.text.startswith("Tôi Tôi")
    with pytest.raises(SettingsError, match="beem"):
        translator.complete(["No."], ["Không"], beem=3)
    backwards = Translator(translator.engine, translator.source, translator.target.directed(True))
    with pytest.raises(InputError, match="right to left"):
        backwards.complete(["No."], ["Không"])


def test_a_sentence_has_the_words_given_and_its_terms(trained: Trained, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("cats\tquyển sách\n", encoding="utf-8")
    (found,) = Translator.load(trained("transformer"), glossary=(terms,)).complete(["I love cats."], ["Con mèo"])
    assert found.text.startswith("Con mèo") and "quyển sách" in found.text
    assert [one.state for one in found.terms] == ["forced"]


def test_sentences_may_come_one_by_one(trained: Trained):
    translator = Translator.load(trained("rnn"), method="greedy")
    known = translator.translate(SOURCES)
    assert translator.translate(iter(SOURCES)) == known
    pairs = SOURCES, [one.text for one in known]
    assert translator.score(*map(iter, pairs)) == translator.score(*pairs)
    maps = zip(translator.attention_maps(*map(iter, pairs)), translator.attention_maps(*pairs), strict=True)
    assert all(one.target == other.target and one.source == other.source for one, other in maps)


@pytest.mark.parametrize("ask", [Translator.translate, Translator.requests], ids=lambda ask: ask.__name__)
def test_one_text_is_not_taken_for_the_letters_of_several(trained: Trained, ask):
    translator = Translator.load(trained("rnn"))
    with pytest.raises(InputError, match=r"'No\.' is one text where a list of them is needed"):
        ask(translator, "No.")
    with pytest.raises(InputError, match="sentence 8 is None, which is not text"):
        ask(translator, ["No.", None], first=7)
    with pytest.raises(InputError, match=r"'No\.' is one text"):
        translator.encode("No.", "target")


def test_a_word_that_points_beyond_the_source_is_replaced_as_any_unknown_one(monkeypatch: pytest.MonkeyPatch):
    words = WordsSettings(minimum_count=1, joint=False, unknown="positional", reach=3)
    source, target = learn_codecs(words, lambda: [("a cat", "con mèo")])
    model = build_model(RecurrentSettings(embedding=8, hidden=8), Vocabularies(len(source), len(target))).eval()
    translator = Translator([model], source, target)
    ids = [target.tokenizer.vocabulary.id("<unk-3>")]
    monkeypatch.setattr(translator.engine, "search", lambda *_, **__: [[Hypothesis(ids, -1.0, -1.0, (-1.0, 0.0))]])
    assert texts(translator, ["Zorblax"]) == ["<unk>"]
    (found,) = translator.translate(["Zorblax"], replace_unknowns=True)
    assert found.text == "Zorblax"
