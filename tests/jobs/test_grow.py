"""A run with larger vocabularies computes what it did, and learns what is new."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from tests.end_to_end.test_adapters import adapting
from tests.jobs.test_mixing import texts
from tests.jobs.test_train import Ear
from tests.laws.architectures import ARCHITECTURES, FAMILIES
from tests.slow import some
from tests.tiny import Trained, recipe, refusal

from dragoman.data.corpus import Pair
from dragoman.errors import InputError, RunError, SettingsError, TextError
from dragoman.inference.translator import Translator
from dragoman.jobs.adapt import AdaptationSettings, adapt
from dragoman.jobs.grow import grow_rows, grow_run, remark
from dragoman.jobs.mixing import in_folder, pairs_of
from dragoman.jobs.train import fit
from dragoman.jobs.verdict import judge
from dragoman.laws.examples import LENGTHS, VOCABULARY, fresh_model, model_of, source, target
from dragoman.layers.mixture import MixtureHead
from dragoman.runs.folder import open_run
from dragoman.special_ids import UNK

TEXT = list(range(4, VOCABULARY))
SENTENCES = ["I love cats.", "The cat sits on the mat.", "No."]
FEW = ("training.steps=4", "training.validate_every=2", "training.threads=1")
TAGGED = ("data.train.0.both_ways=true",)


@pytest.mark.parametrize("name", some(ARCHITECTURES, FAMILIES))
@torch.no_grad()
def test_a_larger_model_computes_the_same_logits_of_old_ids(name: str) -> None:
    architecture = ARCHITECTURES[name]
    before, after = model_of(architecture), fresh_model(architecture, VOCABULARY + 3).eval()
    grow_rows(before, after, ([TEXT, [5], [4, 7]], [TEXT, [5], [4, 7]]))
    read, written = source(LENGTHS), target(len(LENGTHS), 6)
    old, new = (model(read, written).logits for model in (before, after))
    if isinstance(
        after.decoder.head, MixtureHead
    ):  # its logits are log-probabilities, and `posterior` goes on with them
        steps = 1 if architecture.decoder == "posterior" else 6
        assert (new[:, :steps, :VOCABULARY] <= old[:, :steps] + 1e-5).all()
        return
    assert torch.equal(new[..., :VOCABULARY], old)
    expected = torch.stack([old[..., TEXT].mean(-1), old[..., 5], old[..., [4, 7]].mean(-1)], -1)
    torch.testing.assert_close(new[..., VOCABULARY:], expected, rtol=1e-4, atol=1e-4)
    share = new.softmax(-1)[..., VOCABULARY]
    assert (share <= new.softmax(-1)[..., TEXT].mean(-1) * (1 + 1e-4)).all()


def grown(run: Path, out: Path, *languages: str) -> Path:
    """Let a run grow by a character on each side, and languages."""
    texts_of = out.with_name(f"{out.name}-texts")
    texts_of.mkdir()
    (texts_of / "en").write_text("a ʔ b\nʔ\nonce: ə\n", encoding="utf-8")
    (texts_of / "vi").write_text("đ ß\nß ß\n", encoding="utf-8")
    made = grow_run(run, out, source=[texts_of / "en"], target=[texts_of / "vi"], languages=languages)
    assert made.characters == ("ʔ", "ß") and made.languages == languages
    return out


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("rnn", ("text.joint=false", "text.size=200")),
        ("transformer", ()),
        ("transformer", ("text.joint=false", "text.size=200", "model.tied=target")),
        pytest.param("transformer", ("text={kind: characters, joint: true}",), marks=pytest.mark.slow),
    ],
)
def test_a_grown_run_translates_as_before(
    model: str, changes: tuple[str, ...], trained: Trained, tmp_path: Path
) -> None:
    base = trained(model, *changes)
    run = open_run(grown(base, tmp_path / "run"))
    old = open_run(base)
    added = 1 if "text.joint=false" in changes else 2
    assert (len(run.source) - len(old.source), len(run.target) - len(old.target)) == (added, added)
    before, after = Translator.load(base), Translator.load(run.folder)
    for method in ("greedy", "beam"):
        found, expected = (
            [list(one.ids) for one in one.translate(SENTENCES, method=method)] for one in (after, before)
        )
        assert found == expected
    assert after.translate(["ʔ"])[0].ids
    assert (UNK in old.source.encode("ʔ")) and (UNK not in run.source.encode("ʔ"))
    assert len(after.attention_maps(["a ʔ"], ["đ ß"])[0].source.words) == 2
    assert after.target.decode(after.target.encode("đ ß")) == "đ ß"
    again = refusal("train", "--resume", run.folder)
    assert "new characters or languages, so there is no training to resume" in again


def test_adapting_learns_what_is_new_and_can_be_resumed(trained: Trained, tmp_path: Path) -> None:
    import signal

    base = grown(trained("transformer"), tmp_path / "grown")
    domain = texts(tmp_path / "domain")
    for name in ("train.en", "train.vi"):
        lines = (domain / name).read_text(encoding="utf-8").replace("cats", "caʔs" if name.endswith("en") else "caßs")
        (domain / name).write_text(lines, encoding="utf-8")
    settings = AdaptationSettings(assignments=FEW)
    adapt(base, domain, tmp_path / "run", settings=settings, listener=Ear({2: signal.SIGINT}))
    adapt(base, domain, tmp_path / "run", settings=settings, resume=True)
    adapt(base, domain, tmp_path / "unbroken", settings=settings)
    one, other, before = (
        open_run(folder).load_model(torch.device("cpu")) for folder in (tmp_path / "run", tmp_path / "unbroken", base)
    )
    rows = open_run(base).source.encode("ʔß")[-2:]
    for model in (one, other):
        assert not torch.equal(model.encoder.embedding.weight[rows], before.encoder.embedding.weight[rows])
    assert all(torch.equal(*pair) for pair in zip(one.parameters(), other.parameters(), strict=True))
    assert judge(tmp_path / "run").domain.sentences == 12
    assert adapt(
        tmp_path / "run",
        domain,
        tmp_path / "more",
        settings=replace(settings, method="adapters", assignments=(*FEW, "model.adapters.rank=2")),
    ).finished


@pytest.mark.parametrize("method", ["adapters", "frozen-embeddings"])
def test_what_would_not_train_new_rows_is_refused(method: str, trained: Trained, tmp_path: Path) -> None:
    base = grown(trained("transformer"), tmp_path / "grown")
    rank = ("--set", "model.adapters.rank=2") if method == "adapters" else ()
    told = refusal(
        "adapt", base, "--data", texts(tmp_path / "domain"), "--out", tmp_path / "run", "--method", method, *rank
    )
    assert "embeddings must be learned first" in told and "--method full" in told
    assert not (tmp_path / "run").exists()
    with pytest.raises(SettingsError, match=r"embeddings must be learned first"):
        fit(recipe("transformer", *adapting(base)), tmp_path / "own")


def test_a_run_of_adapters_grows_into_one_of_all_weights(trained: Trained, tmp_path: Path) -> None:
    about = {"adapted": {"runs": ["base"]}}
    fit(recipe("transformer", *adapting(trained("transformer"))), tmp_path / "adapted", about=about)
    run = open_run(grown(tmp_path / "adapted", tmp_path / "run"))
    assert run.manifest["adapted"] == about["adapted"]
    assert run.recipe.model.adapters is None and run.recipe.model.start_from is None
    pair = [Translator.load(one).translate(SENTENCES) for one in (tmp_path / "adapted", run.folder)]
    assert [one.ids for one in pair[0]] == [one.ids for one in pair[1]]


@pytest.mark.slow
def test_a_new_language_is_learned_from_a_folder(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer", *TAGGED)
    grow_run(base, tmp_path / "grown", languages=("lo",))
    run = open_run(tmp_path / "grown")
    assert run.source.tag("lo") == [len(run.source) - 1] and run.languages == open_run(base).languages
    assert run.directions.targets == ("vi", "en", "lo") and open_run(base).directions.targets == ("vi", "en")
    domain = texts(tmp_path / "domain", languages=("en", "lo"))
    adapt(run.folder, domain, tmp_path / "run", settings=AdaptationSettings(assignments=FEW))
    adapted = open_run(tmp_path / "run")
    assert {("en", "vi"), ("vi", "en"), ("en", "lo"), ("lo", "en")} == set(adapted.directions.trained)
    assert judge(adapted.folder).domain.sentences == 24
    assert len(Translator.load(adapted.folder).translate(["No."], to="lo")) == 1


def test_text_for_a_vocabulary_of_words_is_refused(trained: Trained, tmp_path: Path) -> None:
    base = trained("rnn", "text={kind: words, minimum_count: 1}")
    (tmp_path / "vi").write_text("ʔ\n" * 2, encoding="utf-8")
    with pytest.raises(InputError, match=r"vocabulary of words, which grows by languages.* --target"):
        grow_run(base, tmp_path / "run", target=[tmp_path / "vi"])
    assert not (tmp_path / "run").exists()


def test_what_cannot_grow_is_refused_and_nothing_is_left(trained: Trained, tmp_path: Path) -> None:
    base, out = trained("transformer"), tmp_path / "run"
    (tmp_path / "en").write_text("I love cats.\nI love cats.\nonce ʔ\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"nothing to add"):
        grow_run(base, out, source=[tmp_path / "en"])
    with pytest.raises(TextError, match=r"no codes of languages"):
        grow_run(base, out, languages=["lo"])
    with pytest.raises(SettingsError, match=r"`l o` cannot have a tag"):
        grow_run(trained("transformer", *TAGGED), out, languages=["l o"])
    with pytest.raises(InputError, match=r"is a masked language model"):
        grow_run(trained("masked_lm"), out, source=[tmp_path / "en"])
    assert not out.exists()
    grown(base, out)
    with pytest.raises(RunError, match=r"already holds a run"):
        grow_run(base, out, source=[tmp_path / "run-texts" / "en"])


def test_runs_of_other_vocabularies_make_no_ensemble(trained: Trained, tmp_path: Path) -> None:
    base = trained("transformer")
    assert "target vocabular" in refusal("translate", base, grown(base, tmp_path / "run"), stdin="No.\n")


def test_no_run_need_grow_for_a_character_in_one_line_of_many(trained: Trained, tmp_path: Path) -> None:
    pairs = [Pair(source, "mèo", "") for source in ("We see ʔ.", *["We see cats."] * 399)]
    told = remark(open_run(trained("transformer")), pairs, [tmp_path / "train.en", tmp_path / "train.vi"])
    assert told is not None and "1 character of the new text (ʔ), in 1 of its 800 lines, too few to matter" in told
    assert told.startswith("Note: the vocabulary lacks") and "dragoman grow" not in told


def test_no_run_need_grow_for_characters_that_it_would_not_get(trained: Trained, tmp_path: Path) -> None:
    base, files = open_run(trained("transformer")), [tmp_path / "train.en", tmp_path / "train.vi"]
    pairs = [Pair("We see ʔ.", "mèo ʔ", ""), Pair("We see ə ə.", "mèo", ""), Pair("We see cats.", "mèo", "")]
    told = remark(base, pairs, files)
    assert told is not None and told.startswith("Note: ") and "in 3 of its 6 lines, too few to matter" in told
    for path, lines in zip(files, zip(*((one.source, one.target) for one in pairs), strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match="nothing to add"):
        grow_run(base.folder, tmp_path / "grown", source=files[:1], target=files[1:])


def test_a_pair_that_is_read_in_both_directions_counts_once(trained: Trained, tmp_path: Path) -> None:
    base, files = open_run(trained("transformer", *TAGGED)), [tmp_path / "train.en", tmp_path / "train.vi"]
    pairs = [Pair("We see ʔ.", "mèo ʔ", ""), Pair("We see cats.", "mèo", "")]
    told = remark(base, [*pairs, *(Pair(one.target, one.source, "") for one in pairs)], files)
    assert told is not None and told.startswith("Note: ") and "in 2 of its 4 lines, too few to matter" in told


def test_adapt_says_which_characters_are_unknown_and_what_to_do(trained: Trained, tmp_path: Path) -> None:
    base, domain = trained("transformer"), texts(tmp_path / "domain")
    (domain / "train.en").write_text("We see cats. ʔə\n" * 10 + "We see cats.\n" * 30, encoding="utf-8")
    (domain / "train.vi").write_text("mèo\n" * 40, encoding="utf-8")
    run = open_run(base)
    found = in_folder(run, domain)
    files = [domain / "train.en", domain / "train.vi"]
    told = remark(run, pairs_of(found, "train"), files)
    assert told is not None and told.startswith(
        "Warning: the vocabulary lacks 2 characters of the new text (ʔ ə), in 10 of its 80 lines; "
    )
    assert f"dragoman grow {base} --source {files[0]} --target {files[1]} --out NEW" in told
    listener = Ear()
    adapt(base, domain, tmp_path / "run", settings=AdaptationSettings(assignments=FEW), listener=listener)
    assert any(told in one for one in listener.said)
    grow_run(base, tmp_path / "grown", source=files[:1], target=files[1:])
    assert remark(open_run(tmp_path / "grown"), pairs_of(found, "train"), files) is None
    assert all(one != other for one, other in pairwise(listener.said))
