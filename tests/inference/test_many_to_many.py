"""Imported models of many languages: what is before a source, and what a target begins with, in every use of a run."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.pretrained.tokenizer_files import pieces_of, sentencepiece, texts
from tests.slow import some
from tests.tiny import dragoman, recipe, refusal

from dragoman.data.store import build_store
from dragoman.decoding.rerank import coverage
from dragoman.inference.confidence.evidence import PassSettings, gather
from dragoman.inference.translator import Translator
from dragoman.interfaces import Padded
from dragoman.jobs.train import fit
from dragoman.runs.folder import Run, new_run, open_run
from dragoman.special_ids import SpecialIds
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, Frame, Frames
from dragoman.text.imported import Imported, Table
from dragoman.text.tags import tag_piece
from dragoman.training.checkpoint import own_tensors

LANGUAGES = ("en", "vi", "fr")
SENTENCES = ("The boat is red.", "I see it.", "You have three small cats.", "", "x")
SHORT = {"maximum_ratio": 1.0, "maximum_extra": 3}
TIED = ("text.joint=true", "model.tied=all", "model.dropout=0.0")


def codec_of(*, after: bool = False, start: Sequence[str] = ()) -> Codec:
    """Return a codec as M2M100 has it; with the language after a source, or with words that a target begins with."""
    model = sentencepiece(texts(), size=200)
    pieces = [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        *pieces_of(model)[3:],
        *(f"__{one}__" for one in LANGUAGES),
        "<unused 1>",
    ]
    ids = {language: pieces.index(f"__{language}__") for language in LANGUAGES}
    frames = {Between(source=one): Frame((), (2, ids[one])) if after else Frame((ids[one],)) for one in LANGUAGES}
    starts = {Between(target=one): Frame((ids[one], *(pieces.index(word) for word in start))) for one in LANGUAGES}
    table = Table(
        tuple(pieces),
        SpecialIds(pad=1, bos=2, eos=2, unk=3, mask=3),
        frozenset({0, 1, 2, *ids.values(), len(pieces) - 1}),
        {tag_piece(language): index for language, index in ids.items()},
        Frames(frames),
        Frames(starts),
    )
    return Codec(Imported(model, table))


def make_run(folder: Path, codec: Codec) -> Run:
    """Write a run with random weights that are so large that languages matter."""
    run = new_run(folder, recipe("transformer", *TIED), (codec, codec), metadata={"data": {}})
    run.save()
    model = run.fresh_model()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    run.files.save(run.weights, own_tensors(model), {"step": 0})
    return run


@pytest.fixture(scope="module", params=[{}, {"after": True}, {"start": ["▁", "a"]}], ids=["before", "after", "words"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return runs of many languages in the forms that there are."""
    folder = tmp_path_factory.mktemp("many") / "run"
    make_run(folder, codec_of(**request.param))
    return open_run(folder)


@pytest.fixture(scope="module")
def translator(run: Run) -> Translator:
    """Return the translator of a run."""
    return Translator.load(run.folder, device="cpu")


def by_hand(run: Run, text: str, between: Between, most: int) -> list[int]:
    """Translate greedily in a plain loop, without any state."""
    model, codec, special = run.load_model(torch.device("cpu")), run.source, run.target.special
    source = torch.tensor([special.ended(codec.frame(between).around(codec.encode(text)))])
    start = [special.bos, *codec.start(between)]
    ids: list[int] = []
    while len(ids) < most:
        logits = _logits(model, source, torch.tensor([[*start, *ids]]))[0, -1]
        logits[list(special.unwritten)] = -torch.inf
        if int(logits.argmax()) == special.eos:
            break
        ids.append(int(logits.argmax()))
    return ids


def _logits(model: Any, source: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """Return a model's logits."""
    with torch.no_grad():
        return model(Padded(source, torch.ones_like(source, dtype=torch.bool)), inputs).logits.clone()


@pytest.mark.parametrize(
    "between", some((Between("en", "vi"), Between("fr", "vi"), Between("en", "fr")), (Between("fr", "vi"),))
)
def test_search_begins_with_the_language(run: Run, translator: Translator, between: Between) -> None:
    found = translator.translate(SENTENCES, to=between, method="greedy", **SHORT)
    for text, one in zip(SENTENCES, found, strict=True):
        ids = run.source.encode(text)
        most = len(run.source.special.ended(run.source.frame(between).around(ids))) - 1 + 3
        assert list(one.ids) == (by_hand(run, text, between, most) if ids else [])
        assert one.text == run.target.decode(one.ids)


def test_languages_matter(translator: Translator) -> None:
    ways = [Between(*way) for way in (("en", "vi"), ("fr", "vi"), ("en", "fr"))]
    scores = [translator.score(["The boat is red."], ["I see it."], to=way)[0][0] for way in ways]
    assert len({round(score, 3) for score in scores}) == 3
    mixed = translator.translate(["The boat is red."] * 3, to=ways, method="greedy", **SHORT)
    assert [one.ids for one in mixed] == [
        translator.translate(["The boat is red."], to=way, method="greedy", **SHORT)[0].ids for way in ways
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {"beam": 3, "n_best": 3},
        {"method": "sample", "n_best": 3, "seed": 5},
        {"beam": 2, "coverage_penalty": 0.2},
        {"beam": 3, "minimum_length": 3, "no_repeat_ngram": 2},
    ],
)
def test_results_are_scored_without_the_language(translator: Translator, settings: dict[str, Any]) -> None:
    between = Between("vi", "en")
    found = translator.translate(SENTENCES[:3], to=between, **settings, **SHORT)
    requests = translator.requests(SENTENCES[:3], to=between)
    for request, best in zip(requests, found, strict=True):
        for one in (best, *best.alternatives):
            assert not set(one.ids) & set(translator.target.special.unwritten)
            given = [type(request)(request.request, request.sources, (), list(one.ids), request.start)]
            (scored,) = translator.engine.score(given, translator.settings)
            assert scored.log_prob == pytest.approx(one.log_prob, abs=1e-4)
            assert scored.ids == list(one.ids) and len(scored.token_log_probs) == len(one.ids) + 1


def test_a_score_is_the_sum_after_the_language(run: Run, translator: Translator) -> None:
    between, text, other = Between("en", "fr"), "The boat is red.", "I see it."
    ((total, length),) = translator.score([text], [other], to=between)
    codec, special = run.source, run.target.special
    source = torch.tensor([special.ended(codec.frame(between).around(codec.encode(text)))])
    start, ids = [special.bos, *codec.start(between)], codec.encode(other)
    chances = _logits(run.load_model(torch.device("cpu")), source, torch.tensor([[*start, *ids]]))[0].log_softmax(-1)
    wanted = sum(float(chances[len(start) - 1 + at, one]) for at, one in enumerate([*ids, special.eos]))
    assert length == len(ids) + 1 and total == pytest.approx(wanted, abs=1e-4)


def test_attention_is_between_texts(run: Run, translator: Translator) -> None:
    between, text, other = Between("en", "fr"), "The boat is red.", "I see it."
    (given,) = translator.attention_maps([text], [other], to=between)
    (found,) = translator.translate([text], to=between, attention=True, **SHORT)
    codec = run.source
    for reading in (given, found.reading):
        assert reading is not None
        ids = codec.special.ended(codec.frame(between).around(codec.encode(text)))
        assert reading.source.pieces == codec.pieces(ids) and reading.source.words == text.split()
        assert reading.weights.shape[-2:] == (len(reading.target.pieces), len(reading.source.pieces))
        assert torch.allclose(reading.weights.sum(-1), torch.tensor(1.0))
        assert not any(piece.startswith("__") for piece in reading.target.pieces) and reading.target.before == 0
        around = [
            owner for piece, owner in zip(reading.source.pieces, reading.source.owners, strict=True) if "__" in piece
        ]
        assert around == [None]
        assert reading.mean_of_text().shape == (len(reading.target.pieces) - 1, len(codec.encode(text)))
    assert given.target.words == other.split() and given.target.pieces == [*codec.split(other), "</s>"]
    start, model = [codec.special.bos, *codec.start(between)], run.load_model(torch.device("cpu"))
    source = torch.tensor([codec.special.ended(codec.frame(between).around(codec.encode(text)))])
    with torch.no_grad():
        inputs = torch.tensor([[*start, *codec.encode(other)]])
        found_weights = model(Padded(source, source >= 0), inputs, need_weights=True).attention
    assert found_weights is not None and torch.allclose(
        given.weights, found_weights[0, :, :, len(start) - 1 :], atol=1e-5
    )


def test_coverage_is_of_what_was_written(translator: Translator) -> None:
    between, text = Between("vi", "en"), "The boat is red."
    (best,) = translator.translate([text], to=between, beam=2, coverage_penalty=0.5, **SHORT)
    (request,) = translator.requests([text], to=between)
    written = dataclasses.replace(request, target=list(best.ids))
    (reading,) = translator.engine.attention_maps(
        [written], (translator.source, translator.target), translator.settings
    )
    weights = reading.mean()[None]
    covered = coverage(weights, torch.ones(weights.shape[:2], dtype=torch.bool), weights[:, 0] >= 0)
    own = translator.settings.of_search().normalise(best.log_prob, len(best.ids) + 1)
    assert best.score == pytest.approx(own + 0.5 * float(covered), abs=1e-4)


def test_evidence_keeps_the_languages(translator: Translator) -> None:
    requests = translator.requests(["The boat is red."], ["I see it."], to=Between("en", "fr"))
    (seen,) = gather(translator, requests, PassSettings(dropout=2), others=["You have cats."])
    frame = translator.source.frame(Between("en", "fr"))
    (bare,) = translator.engine.score(
        [
            type(one)(
                one.request,
                (frame.around(_without_words(translator.source, "The boat is red.")),),
                (),
                one.target,
                one.start,
            )
            for one in requests
        ],
        translator.settings,
    )
    assert seen.emptied == pytest.approx(seen.log_probs - np.array(bare.token_log_probs), abs=1e-4)
    assert seen.foreign is not None and seen.foreign.shape == (1, len(requests[0].target or []) + 1)
    assert seen.dropped == pytest.approx(np.full(2, np.mean(seen.log_probs)), abs=1e-4)  # this model has no dropout


def _without_words(codec: Codec, text: str) -> list[int]:
    """Return the ids of a text without words."""
    from dragoman.inference.confidence.evidence import without_word

    return without_word(codec, text, None) or []


def test_commands_take_both_languages(run: Run) -> None:
    given = ("--from", "en", "--to", "fr")
    one = dragoman("translate", run.folder, *given, stdin="The boat is red.\n")
    own = Translator.load(run.folder, device="cpu").translate(["The boat is red."], to=Between("en", "fr"))
    assert one.lines == [own[0].text] and "zero-shot" not in one.errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--to", "fr"), "this needs the language of the source (en, vi); say which one with `--from`"),
        (("--from", "fr"), "several languages (vi, fr, en); say which one with `--to`"),
        (("--from", "fr", "--to", "en_XX"), "does not translate into `en_XX`; did you mean `en`?"),
        (("--from", "fre", "--to", "en"), "does not translate from `fre`; did you mean `fr`?"),
        (("--from", "fr", "--to", "fr"), "are both `fr`"),
    ],
)
def test_unknown_languages_are_refused(options: tuple[str, ...], message: str, run: Run) -> None:
    assert message in refusal("translate", run.folder, *options, stdin="I am here.")


def test_the_recipe_names_the_usual_direction(run: Run) -> None:
    assert run.directions.usual == ("en", "vi")
    found = dragoman("translate", run.folder, stdin="The boat is red.\n")
    wanted = dragoman("translate", run.folder, "--from", "en", "--to", "vi", stdin="The boat is red.\n")
    assert found.lines == wanted.lines and found.code == 0


@pytest.mark.slow
def test_training_goes_on_in_one_direction(run: Run, tmp_path: Path) -> None:
    chosen = recipe(
        "transformer", *TIED, f"model.start_from.whole={run.folder}", "training.steps=4", "training.validate_every=4"
    )
    fit(chosen, tmp_path / "new")
    new = open_run(tmp_path / "new")
    assert new.source == run.source and new.directions == run.directions
    store, _ = build_store(tmp_path / "store", chosen.data, chosen.data.train, codecs=(new.source, new.target))
    between = Between("en", "vi")
    for index in range(5):
        source, target = (ids.tolist() for ids in store.pair(index))
        assert new.source.frame_of(source) == new.source.frame(between)
        start = new.target.start(between)
        assert tuple(target[: len(start)]) == start and not set(target[len(start) :]) & set(new.target.special.tags)
    found = dragoman("translate", tmp_path / "new", stdin="The boat is red.\n")
    assert found.code == 0 and not math.isnan(len(found.lines))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.source=de", "no source language `de`; it knows en, vi, fr"),
        ("data.joined=0.5", "`data.joined` does not work where sources or targets begin with their language"),
        ("training.reward={}", "a `reward` does not work where targets begin with their language"),
    ],
)
def test_what_a_vocabulary_does_not_support_is_refused_before_training(
    change: str, message: str, run: Run, tmp_path: Path
) -> None:
    from tests.tiny import recipe_file

    corpora = [
        f"data.train=[{{tsv: {tmp_path / 'a.tsv'}}}]",
        f"data.dev=[{{tsv: {tmp_path / 'a.tsv'}}}]",
        "data.test=[]",
    ]
    (tmp_path / "a.tsv").write_text("a\tb\n" * 3, encoding="utf-8")
    path = recipe_file(tmp_path, "transformer", *TIED, f"model.start_from.whole={run.folder}", *corpora, change)
    assert message in refusal("train", path, "--out", tmp_path / "new")
