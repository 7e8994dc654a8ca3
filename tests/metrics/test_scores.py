"""Corpus scores are sacreBLEU's, with its signature."""

from collections.abc import Callable, Sequence

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.metrics import Score, bleu, chrf, ter
from dragoman.metrics.scores import bleu_of_statistics, bleu_statistics, sentence_bleu, tokenizer_for

HYPOTHESES = ["the fast brown fox jumped over the sleepy dog", "", "A cat, sitting on the mat."]
REFERENCES = [
    ["the quick brown fox jumped over the lazy dog", "nothing here", "a cat sat on the mat."],
    ["a quick brown fox leapt over the lazy dog", "nothing", "A cat was sitting on the mat."],
]


def test_bleu_of_several_references_is_sacrebleus() -> None:
    found = bleu(HYPOTHESES, REFERENCES)
    assert found.name == "BLEU"
    assert found.score == sacrebleu.corpus_bleu(HYPOTHESES, REFERENCES).score
    assert found.signature.startswith("nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")


def test_chrf_and_ter_are_sacrebleus() -> None:
    assert chrf(HYPOTHESES, REFERENCES).score == sacrebleu.corpus_chrf(HYPOTHESES, REFERENCES).score
    assert ter(HYPOTHESES, REFERENCES).score == sacrebleu.corpus_ter(HYPOTHESES, REFERENCES).score
    assert chrf(HYPOTHESES, REFERENCES).name == "chrF2"
    assert ter(HYPOTHESES, REFERENCES).name == "TER"


def test_word_order_makes_chrf_plus_plus() -> None:
    found = chrf(HYPOTHESES, REFERENCES, word_order=2)
    assert found.name == "chrF2++"
    assert found.score == sacrebleu.corpus_chrf(HYPOTHESES, REFERENCES, word_order=2).score
    assert "nw:2" in found.signature


def test_case_and_tokenisation_are_options_named_in_the_signature() -> None:
    found = bleu(["A CAT on the mat."], [["a cat on the mat."]], lowercase=True, tokenize="char")
    assert found.score == pytest.approx(100)
    assert "case:lc" in found.signature
    assert "tok:char" in found.signature
    assert bleu(["A CAT on the mat."], [["a cat on the mat."]]).score < 60


CHINESE = ["我今天早上去了学校。", "这本书很有意思，我昨天读完了。"]
THAI = ["วันนี้เขาไปโรงเรียน", "หนังสือเล่มนี้สนุกมาก"]


@pytest.mark.parametrize(("references", "tokenize"), [(CHINESE, "zh"), (THAI, "char")])
def test_words_without_spaces_between_them_are_counted(references: list[str], tokenize: str) -> None:
    hypotheses = [references[0][:8] + references[0][9:], references[1]]
    found = bleu(hypotheses, [references])
    assert found.score == sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenize).score
    assert f"|tok:{tokenize}|" in found.signature and 50 < found.score < 100
    assert bleu(hypotheses, [references], tokenize="13a").score < found.score
    assert sentence_bleu(hypotheses[0], references[0]) > 50 > sentence_bleu(references[1], references[0])


def test_edits_of_chinese_are_counted_by_characters() -> None:
    found = ter([CHINESE[0][:8] + CHINESE[0][9:], CHINESE[1]], [CHINESE])
    assert 0 < found.score < 20 and "|norm:yes|" in found.signature and "|asian:yes|" in found.signature


def test_a_few_words_of_another_script_do_not_change_the_tokeniser() -> None:
    assert tokenizer_for(["The word 猫 means cat.", "Dragon is 龍."]) == tokenizer_for([]) == "13a"
    assert tokenizer_for([*CHINESE, "他用 Python 写程序。", "她唱了「さくら」。"]) == "zh"
    assert tokenizer_for(["東京都の人口は約千四百万人である。"]) == "char"


def test_tokenised_text_is_scored_without_a_warning_of_sacrebleu(caplog: pytest.LogCaptureFixture) -> None:
    assert bleu(["a b c d ."] * 200, [["a b c d ."] * 200]).score == pytest.approx(100)
    assert caplog.records == []


def test_a_perfect_translation_scores_best() -> None:
    assert bleu(REFERENCES[0], [REFERENCES[0]]).score == pytest.approx(100)
    assert chrf(REFERENCES[0], [REFERENCES[0]]).score == pytest.approx(100)
    assert ter(REFERENCES[0], [REFERENCES[0]]).score == 0


@pytest.mark.parametrize("metric", [bleu, chrf, ter])
def test_different_line_counts_are_refused(metric: Callable[[Sequence[str], Sequence[Sequence[str]]], Score]) -> None:
    with pytest.raises(InputError) as caught:
        metric(HYPOTHESES, [REFERENCES[0], ["one line"]])
    assert str(caught.value) == ("there are 3 translations but reference 2 has 1 lines; they must match line by line")


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        bleu([], [[]])
    assert str(caught.value) == "there are no translations to score; the file is empty"
    with pytest.raises(InputError) as caught:
        bleu(HYPOTHESES, [])
    assert str(caught.value) == ("there is nothing to compare the translations with; give at least one reference")


def test_an_unknown_tokeniser_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        bleu(HYPOTHESES, REFERENCES, tokenize="13")
    assert str(caught.value) == "BLEU has no tokeniser `13`; did you mean `13a`?"


def test_statistics_of_sentences_add_up_to_corpus_bleu() -> None:
    hypotheses = ["The cat sat on the mat.", "A dog", "", "on the (old) mat sat a cat"]
    references = [
        ["The cat sat on a mat.", "The dog barks.", "Yes.", "a cat sat on the (old) mat"],
        ["The cat is on the mat today.", "A dog barks at night.", "No.", "on the mat sat a cat"],
    ]
    for sets in (references[:1], references):
        rows = zip(hypotheses, zip(*sets, strict=True), strict=True)
        summed = [sum(column) for column in zip(*(bleu_statistics(*row) for row in rows), strict=True)]
        assert bleu_of_statistics(summed) == pytest.approx(bleu(hypotheses, sets).score)


WORDS = st.lists(st.sampled_from(["a", "b", "the", "cat", "."]), max_size=9).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_statistics_of_sentences_add_up_to_the_bleu_of_the_corpus(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = map(list, zip(*pairs, strict=True))
    summed = [sum(column) for column in zip(*(bleu_statistics(one, [other]) for one, other in pairs), strict=True)]
    found = bleu_of_statistics(summed)
    assert found == pytest.approx(bleu(hypotheses, [references]).score, abs=1e-6) and 0 <= found <= 100 + 1e-6
    assert bleu(references, [references]).score == pytest.approx(100) or not any(len(r.split()) > 3 for r in references)
