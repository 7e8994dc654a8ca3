"""Models of many languages translate here as in transformers: from text to text, with its own tokenisers and its own search."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.pretrained.originals import BART, MARIAN, T5, imported
from tests.pretrained.tokenizer_files import texts, write_fairseq, write_m2m100, write_marian, write_t5

from dragoman.data.directions import Directions, imported_directions
from dragoman.inference.translator import Translator
from dragoman.pretrained.tokenizers import load_codecs
from dragoman.text.frames import Between

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

SENTENCES = [*texts()[:8], "It is 😀 not here.", "Ein Boot."]
LENGTH = 12


def translators(
    config: dict[str, Any], folder: Path, name: str, *, small: dict[str, Any], **options: Any
) -> tuple[Any, Translator]:
    """Return a random model as transformers builds it, and the same one here."""
    own = {key: value for key, value in config.items() if key not in ("model_type", "tokenizer_class")}
    torch.manual_seed(2)
    kind = getattr(transformers, f"{name}Config")(**{**small, **own})
    ending = "MTModel" if name == "Marian" else "ForConditionalGeneration"
    original = getattr(transformers, f"{name}{ending}")(kind).eval()
    with torch.no_grad():
        for parameter in original.parameters():
            if parameter.requires_grad:
                parameter.add_(0.3 * torch.randn(parameter.shape))
    model, description = imported(original)
    source, target = load_codecs(folder, {**kind.to_dict(), **config}, **options)
    assert (len(source), len(target)) == (description.source_size, description.target_size)
    assert target.special.bos == description.special.bos and target.special.eos == description.special.eos
    directions = imported_directions(source, target, Directions((("eng", "vie"),)))
    return original, Translator([model], source, target, languages=directions)


def generated(original: Any, translator: Translator, ids: list[int], start: list[int]) -> list[int]:
    """Return what transformers writes after `start`, never a language or padding."""
    special = translator.target.special
    found = original.generate(
        torch.tensor([ids]),
        attention_mask=torch.ones((1, len(ids)), dtype=torch.long),
        decoder_input_ids=torch.tensor([start]),
        max_new_tokens=LENGTH,
        num_beams=1,
        do_sample=False,
        suppress_tokens=list(special.unwritten),
        bad_words_ids=None,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
    )[0, len(start) :].tolist()
    return found[: found.index(special.eos)] if special.eos in found else found


def compare(original: Any, translator: Translator, tokenize: Any, between: Between, start: list[int]) -> None:
    """Require the same greedy translations of all sentences."""
    settings = {"method": "greedy", "maximum_ratio": 0.0, "maximum_extra": LENGTH}
    found = translator.translate(SENTENCES, to=between, **settings)
    written = 0
    for text, one in zip(SENTENCES, found, strict=True):
        assert translator.requests([text], to=between)[0].start == tuple(start[1:])
        expected = generated(original, translator, tokenize(text), start)
        assert list(one.ids) == expected[: len(one.ids)] and len(one.ids) in (len(expected), LENGTH)
        written += len(one.ids)
    assert written > 20


def test_m2m100(tmp_path: Path) -> None:
    config = write_m2m100(tmp_path / "model")
    original, translator = translators(config, tmp_path / "model", "M2M100", small=BART)
    tokenizer = transformers.M2M100Tokenizer.from_pretrained(tmp_path / "model", src_lang="fr")
    for to in ("vi", "af"):
        start = [2, tokenizer.get_lang_id(to)]
        compare(original, translator, lambda text: _ids(tokenizer, text), Between("fr", to), start)


@pytest.mark.parametrize("legacy", [False, True])
def test_nllb(legacy: bool, tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "model", "m2m_100", kind="bpe")
    original, translator = translators(config | {"legacy_behaviour": legacy}, tmp_path / "model", "M2M100", small=BART)
    codec = translator.source
    languages = {name: codec.tokenizer.vocabulary.tags[f"<to {name}>"] for name in ("eng_Latn", "vie_Latn")}
    before, after = ([], [2, languages["eng_Latn"]]) if legacy else ([languages["eng_Latn"]], [2])

    def tokenize(text: str) -> list[int]:
        return [*before, *codec.encode(text), *after]

    compare(original, translator, tokenize, Between("eng_Latn", "vie_Latn"), [2, languages["vie_Latn"]])


def test_mbart(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "model", "mbart", kind="unigram")
    original, translator = translators(config, tmp_path / "model", "MBart", small=BART)
    tokenizer = transformers.MBart50Tokenizer.from_pretrained(tmp_path / "model", src_lang="vi_VN")
    start = [2, tokenizer.convert_tokens_to_ids("en_XX")]
    compare(original, translator, lambda text: _ids(tokenizer, text), Between("vi_VN", "en_XX"), start)


def test_a_decoder_may_start_with_its_language(tmp_path: Path) -> None:
    config = write_fairseq(tmp_path / "model", "mbart", kind="unigram")
    language = load_codecs(tmp_path / "model", config)[0].start(Between("en_XX", "vi_VN"))[0]
    config |= {"decoder_start_token_id": language}
    original, translator = translators(config, tmp_path / "model", "MBart", small=BART)
    tokenizer = transformers.MBart50Tokenizer.from_pretrained(tmp_path / "model", src_lang="en_XX")
    compare(original, translator, lambda text: _ids(tokenizer, text), Between("en_XX", "vi_VN"), [language])
    assert translator.directions.targets == ("vi_VN",)


def test_t5(tmp_path: Path) -> None:
    config = write_t5(tmp_path / "model")
    prefixes = {("en", "vi"): ("translate English: ", "")}
    original, translator = translators(config, tmp_path / "model", "T5", small=T5, prefixes=prefixes)
    tokenizer = transformers.T5Tokenizer.from_pretrained(tmp_path / "model")
    compare(original, translator, lambda text: _ids(tokenizer, f"translate English: {text}"), Between("en", "vi"), [0])


def test_marian(tmp_path: Path) -> None:
    config = write_marian(tmp_path / "model", ["fra", "vie"])
    original, translator = translators(config, tmp_path / "model", "Marian", small=MARIAN)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "model")
    start = [config["decoder_start_token_id"]]
    compare(original, translator, lambda text: _ids(tokenizer, f">>fra<< {text}"), Between("eng", "fra"), start)
    assert translator.directions.targets == ("fra", "vie")


def _ids(tokenizer: Any, text: str) -> list[int]:
    """Return the ids that the library's tokeniser gives to a text."""
    return list(tokenizer(text).input_ids)
