"""A pretrained model becomes an ordinary run that translates the same."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.pretrained.folders import FAMILIES, Models, write_model
from tests.pretrained.tokenizer_files import write_marian
from tests.slow import some
from tests.tiny import dragoman, refusal

from dragoman.inference.translator import Translator
from dragoman.pretrained import job
from dragoman.pretrained.job import import_model
from dragoman.pretrained.proof import Proof, quietly
from dragoman.runs.folder import open_run
from dragoman.text.frames import Between

SENTENCES = ("I love cats.", "The cat sits on the mat near the old school.", "Tôi yêu mèo.")
WAYS = {"marian": ("en", "vi"), "m2m100": ("en", "vi"), "nllb": ("eng_Latn", "vie_Latn"), "mbart50": ("en_XX", "vi_VN")}


@pytest.mark.parametrize("name", some(FAMILIES, list(FAMILIES)[::2]))
def test_greedy_translations_are_those_of_transformers(name: str, imported: Models) -> None:
    folder, run, _ = imported(name)
    way = WAYS.get(name)
    with quietly():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    options: dict[str, Any] = {}
    if way is not None and name != "marian":
        setattr(tokenizer, "src_lang", way[0])  # noqa: B010
        forced = f"__{way[1]}__" if name == "m2m100" else way[1]
        options["forced_bos_token_id"] = tokenizer.convert_tokens_to_ids(forced)
    translator = Translator.load(run, device="cpu", beam=1, maximum_length=12)
    between = Between(*way) if way is not None and name != "marian" else None
    for sentence in SENTENCES:
        codec = translator.target
        unwritten = [[index] for index in codec.special.unwritten if index not in options.values()]
        written = model.generate(
            **tokenizer(sentence, return_tensors="pt"),
            num_beams=1,
            do_sample=False,
            max_new_tokens=12 + (1 if options else 0),
            bad_words_ids=[one for one in unwritten if one != [codec.special.eos]] or None,
            **options,
        )
        (own,) = translator.translate([sentence], to=between)
        theirs = written[0, 1 + len(options) :].tolist()
        assert own.text == codec.decode(theirs[:12])


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("pegasus", [], "does not say its source language; name it with `--from`"),
        ("pegasus", ["--from", "en"], "does not say its target language; name it with `--to`"),
        ("mbart50", ["--to", "vi"], "does not know `--to vi`; did you mean `vi_VN`"),
        ("nllb", ["--from", "eng"], "does not know `--from eng`; did you mean `eng_Latn`"),
    ],
)
def test_languages_that_are_missing_or_unknown_are_named(
    name: str, options: list[str], named: str, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model", name)
    assert named in refusal("import", folder, "--out", tmp_path / "run", *options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("marks", "codes", "languages"),
    [((), None, ("en", "vi")), ((), "eng vie", ("en", "vi")), (("vie", "vie_Hani"), "eng vie", ("en", "vi"))],
    ids=["no codes", "codes of three letters", "marks"],
)
def test_languages_are_those_in_the_name_of_a_model(
    marks: tuple[str, ...],
    codes: str | None,
    languages: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, name, size = FAMILIES["marian"]
    monkeypatch.setitem(FAMILIES, "marked", (lambda folder: write_marian(folder, marks), name, size))  # type: ignore[arg-type]
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--Helsinki-NLP--opus-mt-en-vi"
    (place / "snapshots").mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0123abc")
    given = None if codes is None else dict(zip(("source_lang", "target_lang"), codes.split(), strict=True))
    folder = write_model(place / "snapshots" / "0123abc", "marked", tokenizer=given)
    for path in list(folder.iterdir()):  # as the cache has them
        (place / path.name).write_bytes(path.read_bytes())
        path.unlink()
        path.symlink_to(place / path.name)
    import_model("Helsinki-NLP/opus-mt-en-vi", tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.languages == languages and run.manifest["imported"]["name"] == "opus-mt-en-vi"
    assert not (run.folder / "imported" / "source.spm").is_symlink()
    if marks:
        frames = run.source.frames
        assert frames.of(Between(*languages)) == frames.of(Between("en", "vie")) != frames.of(Between("en", "vie_Hani"))
        assert len(frames.of(Between(*languages)).before) == 1


def test_a_model_of_several_targets_must_be_told_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is that of a group, into which nothing is translated: without a mark it writes whatever language."""
    _, name, size = FAMILIES["marian"]
    monkeypatch.setitem(FAMILIES, "marked", (lambda folder: write_marian(folder, ["fra", "vie"]), name, size))  # type: ignore[arg-type]
    codes = {"source_lang": "eng", "target_lang": "mul"}
    import_model(str(write_model(tmp_path / "opus-mt-en-mul", "marked", tokenizer=codes)), tmp_path / "run")
    directions = open_run(tmp_path / "run").directions
    assert directions.trained == (("en", "fra"), ("en", "vie")) and directions.usual is None
    refused = refusal("translate", tmp_path / "run", stdin="I love cats.\n")
    assert "several languages (fra, vie)" in refused and "`--to`" in refused
    options = ("--from", "en", "--to", "fra", "--set", "maximum_length=9")
    assert dragoman("translate", tmp_path / "run", *options, stdin="I love cats.\n").code == 0


def test_a_model_may_be_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_model(tmp_path / "opus-mt-vi-en", "marian"))
    import_model(".", tmp_path / "run")
    assert open_run(tmp_path / "run").languages == ("vi", "en")


def test_the_first_mbart_writes_what_transformers_does(tmp_path: Path) -> None:
    tokenizer = {"tokenizer_class": "MBartTokenizer"}
    folder = write_model(tmp_path / "model", "mbart50", tokenizer=tokenizer, decoder_start_token_id=None)
    assert "name it with `--to`" in refusal("import", folder, "--out", tmp_path / "run")
    import_model(str(folder), tmp_path / "run", languages=("en_XX", "vi_VN"))
    translator = Translator.load(tmp_path / "run", device="cpu", beam=1, maximum_length=12)
    (own,) = translator.translate([SENTENCES[1]])
    source, special = translator.source, translator.target.special
    ids = [*source.encode(SENTENCES[1]), special.eos, *source.tag("en_XX")]
    written = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).generate(
        torch.tensor([ids]),
        decoder_start_token_id=source.tag("vi_VN")[0],
        suppress_tokens=list(special.unwritten),
        num_beams=1,
        max_new_tokens=12,
    )
    assert list(own.ids) == [one for one in written[0, 1:].tolist() if one != special.eos] and len(own.ids) > 3


@pytest.mark.parametrize("longest", [{"max_length": 30}, {"max_length": 99, "max_new_tokens": 29}])
def test_generation_settings_are_kept(longest: dict[str, int], tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "marian")
    place = folder / "generation_config.json"
    known = json.loads(place.read_text(encoding="utf-8"))
    own = {"num_beams": 4, "length_penalty": 0.7, "no_repeat_ngram_size": 3} | longest
    place.write_text(json.dumps(known | own), encoding="utf-8")
    import_model(folder, tmp_path / "run", languages=("en", "vi"))
    found = open_run(tmp_path / "run").recipe.decoding
    assert (found.beam, found.length_normalisation, found.length_penalty) == (4, "average", 0.7)
    assert (found.no_repeat_ngram, found.maximum_length) == (3, 28)


@pytest.mark.parametrize(("said", "beam"), [({}, 5), ({"num_beams": 1}, 1)])
def test_a_length_penalty_that_is_not_said_is_that_of_transformers(
    said: dict[str, int], beam: int, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model", "marian")
    place = folder / "generation_config.json"
    known = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps(known | said), encoding="utf-8")
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"))
    found = open_run(tmp_path / "run").recipe.decoding
    assert (found.beam, found.length_normalisation, found.length_penalty) == (beam, "average", 1.0)


def test_where_a_tokeniser_once_cut_text_is_no_limit(tmp_path: Path) -> None:
    """Trained with `truncation=True`, a tokeniser is saved with `max_length`, which is a setting of generation elsewhere."""
    folder = write_model(tmp_path / "model", "t5", tokenizer={"max_length": 16, "truncation_strategy": "longest_first"})
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"))
    assert open_run(tmp_path / "run").recipe.decoding.maximum_length is None


def test_generation_settings_that_are_left_out_are_named(tmp_path: Path) -> None:
    folder, heard = write_model(tmp_path / "model", "marian"), list[str]()
    place = folder / "generation_config.json"
    known = json.loads(place.read_text(encoding="utf-8"))
    usual = {"bad_words_ids": [[known["pad_token_id"]]], "min_length": 0, "do_sample": False, "repetition_penalty": 1}
    place.write_text(json.dumps(known | usual), encoding="utf-8")
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"), say=heard.append)
    assert not any("not taken over" in one for one in heard)
    odd = {"bad_words_ids": [[5, 6]], "suppress_tokens": [7], "repetition_penalty": 1.3, "forced_bos_token_id": 9}
    odd |= {"length_penalty": -0.5, "diversity_penalty": 0.5, "forced_decoder_ids": [[1, 5]]}
    place.write_text(json.dumps(known | odd), encoding="utf-8")
    import_model(str(folder), tmp_path / "other", languages=("en", "vi"), say=heard.append)
    (said,) = [one for one in heard if "not taken over" in one]
    assert all(f"`{name}`" in said for name in odd)


def test_other_tokens_than_those_of_the_library_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "prove", lambda *_: Proof("transformers 5", 0.0, 8, 0.25))
    folder, heard = write_model(tmp_path / "model", "marian"), list[str]()
    import_model(str(folder), tmp_path / "run", languages=("en", "vi"), say=heard.append)
    assert any(
        one.startswith("Warning: transformers 5 cuts 75% of 8 test sentences into other tokens") for one in heard
    )


def test_a_folder_that_holds_a_run_is_left_alone(imported: Models) -> None:
    folder, run, _ = imported("marian")
    assert "already holds a run" in refusal("import", folder, "--out", run)


def test_a_tokeniser_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "opus-mt-en-vi", "marian")
    ids = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    (folder / "vocab.json").write_text(json.dumps(ids | {"more": len(ids) + 5}), encoding="utf-8")
    assert "do not belong together" in refusal("import", folder, "--out", tmp_path / "run")


@pytest.mark.parametrize("name", ["marian", "m2m100", "t5"])
def test_every_command_takes_an_imported_run(name: str, imported: Models, tmp_path: Path) -> None:
    _, run, _ = imported(name)
    languages = ["--from", "en", "--to", "vi"] if name == "m2m100" else []
    (tmp_path / "source").write_text("I love cats.\nThe dog runs.\n")
    (tmp_path / "target").write_text("Tôi yêu mèo.\nCon chó chạy.\n")
    both = [tmp_path / "source", tmp_path / "target"]
    scored = dragoman("score", run, *both, *languages)
    assert scored.code == 0 and len(scored.lines) == 2, scored.errors
    aligned = dragoman("align", run, *both, *languages)
    assert aligned.code == 0 and len(aligned.lines) == 2, aligned.errors
    drawn = dragoman(
        "attend", run, "I love cats.", "--target", "Tôi yêu mèo.", "--output", tmp_path / "page.html", *languages
    )
    assert drawn.code == 0 and (tmp_path / "page.html").exists(), drawn.errors


def test_words_before_a_source_are_given_to_t5_alone(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", "t5")
    options = ["--from", "en", "--to", "vi", "--source-prefix", "en: ", "--target-prefix", "vi: "]
    assert dragoman("import", folder, "--out", tmp_path / "run", *options).code == 0
    run = open_run(tmp_path / "run")
    between = Between("en", "vi")
    assert list(run.source.frame(between).before) == run.source.encode("en:")
    assert list(run.target.start(between)) == run.target.encode("vi:")
    assert run.directions.choose() == between
    assert "name the languages" in refusal("import", folder, "--out", tmp_path / "other", *options[4:])
    marian = write_model(tmp_path / "marian", "marian")
    assert "only for T5" in refusal("import", marian, "--out", tmp_path / "other", *options)
