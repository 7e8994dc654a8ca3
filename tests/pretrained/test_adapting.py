"""Imported models are adapted as runs that were trained here."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.jobs.test_mixing import rows, texts
from tests.pretrained.folders import FAMILIES, write_model
from tests.slow import some

from dragoman.errors import InputError, SettingsError
from dragoman.inference.translation import Translation
from dragoman.inference.translator import Translator
from dragoman.jobs.adapt import AdaptationSettings, MethodName, adapt
from dragoman.jobs.verdict import judge
from dragoman.pretrained.job import import_model
from dragoman.pretrained.original import write_original
from dragoman.pretrained.weights import sinusoid_table
from dragoman.runs.folder import open_run
from dragoman.training.checkpoint import own_tensors

FEW = ("training.steps=2", "training.threads=1", "training.device=cpu", "decoding.beam=1", "decoding.maximum_length=12")
WAYS = {"nllb": ("eng_Latn", "vie_Latn"), "mbart50": ("en_XX", "vi_VN")}


QUICK = {("nllb", "adapters")}
"""What is tested every time; the rest is slow."""


@pytest.mark.parametrize(
    ("name", "method"),
    some([(name, method) for name in FAMILIES for method in ("full", "adapters")], QUICK),
)
def test_an_imported_model_is_adapted(name: str, method: MethodName, tmp_path: Path) -> None:
    way = WAYS.get(name, ("en", "vi"))
    import_model(str(write_model(tmp_path / "model", name)), tmp_path / "base", languages=way)
    data, general = texts(tmp_path / "domain", languages=way), texts(tmp_path / "general", train=0, languages=way)
    rank = ("model.adapters.rank=2",) if method == "adapters" else ()
    chosen = AdaptationSettings(method=method, general=general, mix=0.1, assignments=(*FEW, *rank))
    progress = adapt(tmp_path / "base", data, tmp_path / "run", settings=chosen)
    assert progress.finished
    expected = 5e-5 * (5 if method == "adapters" else 1)
    assert open_run(tmp_path / "run").recipe.training.learning_rate == pytest.approx(expected)
    verdict = judge(tmp_path / "run")
    assert verdict.domain.sentences == 12 and verdict.general is not None
    assert len(Translator.load(tmp_path / "run").translate(["I love cats."])) == 1


def test_positions_that_files_hold_are_never_trained(tmp_path: Path) -> None:
    """Old files of Marian hold them rounded; the library reads these, does not train them, and computes others when it saves."""
    file = write_model(tmp_path / "model", "marian") / "model.safetensors"
    rounded = {
        f"model.{side}.embed_positions.weight": sinusoid_table(128, 16).half() for side in ("encoder", "decoder")
    }
    save_file(load_file(file) | rounded, file)
    import_model(str(tmp_path / "model"), tmp_path / "base", languages=("en", "vi"))
    chosen = AdaptationSettings(mix=0.0, assignments=FEW)
    adapt(tmp_path / "base", texts(tmp_path / "domain"), tmp_path / "run", settings=chosen)
    (tmp_path / "back").mkdir()
    write_original(open_run(tmp_path / "run"), tmp_path / "back")
    before, after = load_file(file), load_file(tmp_path / "back" / "model.safetensors")
    same = {name for name, tensor in before.items() if torch.equal(tensor.float(), after[name])}
    assert set(rounded) <= same and "model.encoder.layers.0.fc1.weight" not in same


@pytest.mark.parametrize(
    "given",
    [
        ("training.ema=0.5", "training.batch_tokens=2000", "training.threads=2", "training.weight_decay=0.1"),
        ("training.optimizer=muon", "training.consistency={kind: r_drop}"),
        ("training.optimizer=nesterov", "training.momentum=0.9"),
    ],
)
def test_a_decoder_of_marian_starts_with_zeros_as_before(given: tuple[str, ...], tmp_path: Path) -> None:
    """CTranslate2's own converter takes them for granted."""
    file = write_model(tmp_path / "model", "marian") / "model.safetensors"
    tensors = load_file(file)
    tensors["model.shared.weight"][-1] = 0
    save_file(tensors, file, {"format": "pt"})
    import_model(str(tmp_path / "model"), tmp_path / "base", languages=("en", "vi"))
    chosen = AdaptationSettings(mix=0.0, assignments=(*FEW, *given))
    adapt(tmp_path / "base", texts(tmp_path / "domain"), tmp_path / "run", settings=chosen)
    before, after = (own_tensors(open_run(tmp_path / one).load_model(torch.device("cpu"))) for one in ("base", "run"))
    changed = (before["encoder.embedding.weight"] != after["encoder.embedding.weight"]).any(1)
    assert changed.float().mean() > 0.5 and not changed[-1]


def test_a_model_of_many_languages_must_be_told_which(tmp_path: Path) -> None:
    way = WAYS["nllb"]
    import_model(str(write_model(tmp_path / "model", "nllb")), tmp_path / "base")
    data = texts(tmp_path / "domain", languages=way)
    with pytest.raises(InputError, match=r"does not say between which two .*data\.source"):
        adapt(tmp_path / "base", data, tmp_path / "run", settings=AdaptationSettings(mix=0.0, assignments=FEW))
    other = AdaptationSettings(mix=0.0, assignments=(*FEW, "data.source=eng", f"data.target={way[1]}"))
    with pytest.raises(SettingsError, match=r"`data\.source` is `eng`, which is not one of .*did you mean `eng_Latn`"):
        adapt(tmp_path / "base", data, tmp_path / "run", settings=other)
    named = (*FEW, f"data.source={way[0]}", f"data.target={way[1]}")
    adapt(tmp_path / "base", data, tmp_path / "run", settings=AdaptationSettings(mix=0.0, assignments=named))
    assert judge(tmp_path / "run").domain.sentences == 12


@pytest.mark.parametrize("name", ["nllb", "mbart50"])
def test_an_adapted_model_of_many_languages_can_be_adapted_between_others(name: str, tmp_path: Path) -> None:
    way = WAYS[name]
    import_model(str(write_model(tmp_path / "model", name)), tmp_path / "base", languages=way)
    data = texts(tmp_path / "domain", languages=way)
    adapt(tmp_path / "base", data, tmp_path / "run", settings=AdaptationSettings(mix=0.0, assignments=FEW))
    named = (*FEW, f"data.source={way[1]}", f"data.target={way[0]}")
    adapt(tmp_path / "run", data, tmp_path / "back", settings=AdaptationSettings(assignments=named))
    learned = open_run(tmp_path / "back").recipe.data
    assert {one.languages for one in (*learned.train, *learned.dev)} == {way[::-1]}
    assert list((tmp_path / "back" / "mixed").glob("general-train-*.jsonl")), "translated the other way"
    assert learned.directions.trained == (way[::-1],) and judge(tmp_path / "back").general is None
    same = AdaptationSettings(mix=0.0, assignments=(*FEW, f"data.source={way[0]}", f"data.target={way[1]}"))
    adapt(tmp_path / "run", data, tmp_path / "on", settings=same)
    assert judge(tmp_path / "on").general is not None, "its own dev set is that of before"


def test_translations_that_do_not_fit_into_the_model_are_not_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = WAYS["mbart50"]
    import_model(str(write_model(tmp_path / "model", "mbart50")), tmp_path / "base", languages=way)

    def repeated(_: Translator, sentences: list[str], **__: object) -> list[Translation]:
        return [Translation("con mèo" if "7" in one else "con mèo " * 100, -1.0, -1.0) for one in sentences]

    monkeypatch.setattr(Translator, "translate", repeated)
    data = texts(tmp_path / "domain", languages=way)
    adapt(tmp_path / "base", data, tmp_path / "run", settings=AdaptationSettings(assignments=FEW))
    (learned,) = (tmp_path / "run" / "mixed").glob("general-train-*.jsonl")
    assert [row["target"] for row in rows(learned)] == ["con mèo"] * 4


def test_what_is_too_long_for_the_base_is_named_before_it_translates(tmp_path: Path) -> None:
    way = WAYS["mbart50"]
    import_model(str(write_model(tmp_path / "model", "mbart50")), tmp_path / "base", languages=way)
    data = texts(tmp_path / "domain", languages=way)
    with (data / "train.en_XX").open("a") as source, (data / "train.vi_VN").open("a") as target:
        source.write("I love cats.\n")
        target.write("con mèo " * 100 + "\n")
    with pytest.raises(InputError, match=r"train\.en_XX.* line 41.*: .*more than the 128 positions of .*max_words"):
        adapt(tmp_path / "base", data, tmp_path / "run", settings=AdaptationSettings(assignments=FEW))
    assert not (tmp_path / "run").exists()
    shorter = AdaptationSettings(mix=0.0, assignments=(*FEW, "data.filters.max_words=50"))
    assert adapt(tmp_path / "base", data, tmp_path / "other", settings=shorter).finished
