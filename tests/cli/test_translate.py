"""`dragoman translate`: one line out for one line in, in order."""

import json

import pytest
from tests.tiny import MODELS, Trained, dragoman, refusal, with_decoding

from dragoman.cli import translate

SENTENCES = ["I love cats.", "", "This is a book.", "   ", "The cat sits on the mat near the old school.", "No."]
LINES = "".join(f"{sentence}\n" for sentence in SENTENCES)


@pytest.mark.parametrize("model", MODELS)
def test_there_is_one_line_out_for_one_line_in(trained: Trained, model):
    found = dragoman("translate", trained(model), stdin=LINES)
    assert (found.code, found.errors) == (0, "")
    assert [bool(line) for line in found.lines] == [bool(sentence.strip()) for sentence in SENTENCES]


def test_the_order_of_lines_is_kept(trained: Trained):
    run = trained("rnn", "training.steps=120", "training.metric=loss")
    forward = dragoman("translate", run, stdin=LINES).lines
    backward = dragoman("translate", run, stdin="".join(f"{one}\n" for one in reversed(SENTENCES))).lines
    assert len(set(forward)) > 2
    assert backward == forward[::-1]


def test_lines_end_at_line_feeds_alone(trained: Trained):
    text = "I love\x0bcats.\x85\u2028And dogs.\r\nThis is\x0ca book."
    assert len(dragoman("translate", trained("rnn"), stdin=text).lines) == 2


def test_no_input_gives_no_output(trained: Trained):
    found = dragoman("translate", trained("rnn"))
    assert (found.code, found.output) == (0, "")


def test_chunks_do_not_show(trained: Trained, monkeypatch: pytest.MonkeyPatch):
    whole = dragoman("translate", trained("rnn"), "--n-best", 2, stdin=LINES).lines
    monkeypatch.setattr(translate, "CHUNK", 2)
    parts = dragoman("translate", trained("rnn"), "--n-best", 2, stdin=LINES).lines
    assert [line.rsplit(" ||| ", 1)[0] for line in parts] == [line.rsplit(" ||| ", 1)[0] for line in whole]


@pytest.mark.parametrize("options", [("--n-best", 3), ("--set", "n_best=3")])
def test_n_best_translations_are_numbered_and_ranked(trained: Trained, options):
    run = trained("transformer")
    rows = [line.split(" ||| ") for line in dragoman("translate", run, *options, stdin=LINES).lines]
    assert [int(number) for number, _, _ in rows] == [0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 5, 5]
    scores = [float(score) for number, _, score in rows if number == "4"]
    assert scores == sorted(scores, reverse=True)
    best = dragoman("translate", run, stdin=LINES).lines
    assert [rows[first][1] for first in (0, 3, 4, 7, 8, 11)] == best


def test_json_lines_hold_scores(trained: Trained):
    found = [json.loads(line) for line in dragoman("translate", trained("rnn"), "--json", stdin=LINES).lines]
    assert [one["line"] for one in found] == list(range(len(SENTENCES)))
    assert all(set(one) == {"line", "translation", "score", "log_prob"} for one in found)
    assert found[0]["log_prob"] < 0
    assert found[1] == {"line": 1, "translation": "", "score": 0.0, "log_prob": 0.0}


@pytest.mark.parametrize("model", MODELS)
def test_links_point_at_words_of_both_sides(trained: Trained, model):
    found = dragoman("translate", trained(model), "--align", stdin=LINES).lines
    assert found[1] == found[3] == " ||| "
    for sentence, line in zip(SENTENCES, found, strict=True):
        text, links = line.split(" ||| ")
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert {target for _, target in pairs} == set(range(len(text.split())))
        assert all(source < len(sentence.split()) for source, _ in pairs)


def test_links_stand_in_json_where_asked_for(trained: Trained):
    asked = dragoman("translate", trained("rnn"), "--json", "--align", stdin=LINES).lines
    assert "-" in json.loads(asked[0])["alignment"] and json.loads(asked[1])["alignment"] == ""


def test_a_beam_of_one_is_greedy_search(trained: Trained):
    run = trained("rnn")
    greedy = dragoman("translate", run, "--set", "method=greedy", stdin=LINES).lines
    assert dragoman("translate", run, "--beam", 1, stdin=LINES).lines == greedy


def test_draws_depend_on_the_seed_alone(trained: Trained):
    def draw(seed: int) -> list[str]:
        options = ("--set", "method=sample", "--set", f"seed={seed}", "--set", "n_best=4")
        return dragoman("translate", trained("rnn"), *options, stdin="I love cats.\n").lines

    assert len(draw(1)) == 4
    assert draw(1) == draw(1) != draw(2)


def test_two_runs_translate_together(trained: Trained):
    alone = [dragoman("translate", trained(model), "--json", stdin=LINES).output for model in MODELS]
    together = dragoman("translate", *(trained(model) for model in MODELS), "--json", stdin=LINES)
    assert together.code == 0
    assert together.output not in alone
    assert len(together.lines) == len(SENTENCES)


def test_a_run_with_itself_translates_as_alone(trained: Trained):
    run = trained("transformer")
    assert dragoman("translate", run, run, stdin=LINES).lines == dragoman("translate", run, stdin=LINES).lines


def test_output_is_utf8_whatever_the_terminal(trained: Trained):
    found = dragoman("translate", trained("rnn"), "--set", "method=sample", stdin=LINES, encoding="ascii")
    assert found.code == 0
    assert not found.output.isascii()


@pytest.mark.parametrize(
    ("most", "lines", "length"),
    [
        ("max_words=30", ["No.", "cat " * 31, "No."], "31 words"),
        ("max_characters=90", ["a" * 90, "猫" * 91 + "。"], "92 characters"),
    ],
)
def test_a_sentence_longer_than_all_that_was_trained_on_is_remarked(
    trained: Trained, most: str, lines: list[str], length: str
):
    run, (setting, limit) = trained("rnn", f"data.filters.{most}"), most.split("=")
    found = dragoman("translate", run, "--set", "maximum_length=3", stdin="".join(f"{one}\n" for one in lines))
    assert (found.code, len(found.lines)) == (0, len(lines))
    (remark,) = found.errors.splitlines()
    assert all(part in remark for part in ("Sentence 2", length, limit, f"data.filters.{setting}"))


@pytest.fixture
def terms(tmp_path):
    path = tmp_path / "terms.tsv"
    path.write_text("cats\tquyển sách\nLondon\n", encoding="utf-8")
    return path


def test_the_terms_of_a_glossary_are_met_and_counted(trained: Trained, terms):
    found = dragoman("translate", trained("transformer"), "--glossary", terms, "--json", stdin=LINES)
    assert (
        "Terms in the source: 1; met at once: 0, forced by a second search: 1 (sentences searched: 1), unmet: 0."
        in found.errors
    )
    first, second = (json.loads(line) for line in found.lines[:2])
    assert "quyển sách" in first["translation"]
    assert first["terms"] == [{"source": "cats", "target": "quyển sách", "state": "forced"}]
    assert "terms" not in second


def test_terms_and_samples_do_not_go_together(trained: Trained, terms):
    rescued = dragoman("translate", trained("rnn"), "--glossary", terms, "--rescue", stdin=LINES)
    assert rescued.code == 2
    assert "--rescue" in rescued.errors and "--glossary" in rescued.errors


def test_samples_say_nothing_of_the_terms_of_a_recipe_and_may_be_rescued(trained: Trained, terms, tmp_path):
    run = with_decoding(trained("rnn"), tmp_path / "run", glossary=[str(terms)])
    sampled = dragoman("translate", run, "--set", "method=sample", "--rescue", stdin=LINES)
    assert sampled.code == 0
    assert "term of the glossary" not in sampled.errors and "Terms in the source" not in sampled.errors
    refused = dragoman("translate", run, "--rescue", stdin=LINES)
    assert refused.code == 2 and "`--set glossary=[]`" in refused.errors
    assert dragoman("translate", run, "--rescue", "--set", "glossary=[]", stdin=LINES).code == 0


def test_a_glossary_that_cannot_be_read_is_refused(trained: Trained, terms):
    terms.write_text("a\tb\n\tc\n", encoding="utf-8")
    found = dragoman("translate", trained("rnn"), "--glossary", terms, stdin=LINES)
    assert found.code == 2
    assert f"{terms}, line 2" in found.errors


def test_lines_of_several_sentences_are_counted_once_at_the_end(trained: Trained):
    lines = "One. Two.\nOne. Two. Three.\nMr. A. Smith left.\nOne! Two? Three. Four.\n"
    found = dragoman("translate", trained("rnn"), stdin=lines)
    assert len(found.lines) == 4 and found.errors.count("sentences or more") == 1
    assert "Lines with 3 sentences or more: 2, the first is line 2. A model that learned" in found.errors
    assert "dragoman translate RUN FILE.txt -o OUT.txt" in found.errors
    assert "sentences or more" not in dragoman("translate", trained("rnn"), stdin="One. Two.\n").errors


def test_a_sentence_in_the_place_of_a_run_is_led_to_standard_input(trained: Trained, tmp_path):
    run = trained("rnn")
    message = refusal("translate", run, "I love cats.")
    assert "there is no run I love cats.; sentences come from standard input" in message
    assert f"`echo 'I love cats.' | dragoman translate {run}`" in message
    file = tmp_path / "new.en"
    file.write_text("No.\n", encoding="utf-8")
    message = refusal("translate", run, file)
    assert f"is a file, not a run; give sentences as `dragoman translate {run} < {file}`, or a document" in message
