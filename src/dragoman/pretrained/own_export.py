"""Read back what `dragoman export --to huggingface` wrote, or what `transformers` has saved of it since.

Such a folder says in its `config.json` what no model of the library needs to know: settings of text and search, and languages.
The codecs are those of the run, with its normalisation, and not the library's own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from dragoman.errors import ImportModelError, TextError
from dragoman.pretrained.families import TABLES
from dragoman.pretrained.folder import read_json
from dragoman.pretrained.huggingface_weights import Layout
from dragoman.pretrained.sentencepiece_files import TOKENIZER
from dragoman.pretrained.tokenizer_json import LESS, TARGET, tokenizer_json
from dragoman.runs.folder import Run
from dragoman.special_ids import SPECIAL_IDS
from dragoman.text.codec import Codec
from dragoman.text.pieces import SentencePiece
from dragoman.text.sentencepiece_models import BPE, CONTROL, NORMAL, UNIGRAM, UNKNOWN, Piece, model_of
from dragoman.text.tags import is_tag
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from dragoman.text.words import Characters

MARK = "dragoman"
"""Entry of `config.json` with what `mark_of` returns."""
ELSEWHERE = {"rerank", "rerank_weights", "dictionary", "shortlist"}
"""Settings of search that need files, which are not exported."""
EMBEDDINGS = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
HEAD, BIAS = "lm_head.weight", "final_logits_bias"
"""Tensors with a row for each token, those of the source first where the languages are apart."""


def mark_of(run: Run, layout: Layout) -> dict[str, Any]:
    """Return what a run is besides its model, as `config.json` keeps it."""
    recipe = run.recipe
    guided = recipe.training.guided
    source, target = run.languages
    tags = list(recipe.data.tags)
    return {
        "offset": layout.offset,
        "data": {"languages": tags} if tags else {"source": source, "target": target},
        "text": recipe.text.model_dump(mode="json"),
        "decoding": recipe.decoding.model_dump(mode="json", exclude=ELSEWHERE),
        "guided": None if guided is None else guided.model_dump(mode="json"),
    }


def apart(config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
    """Return configuration and weights of a marked model with the ids of the run: source and target apart, if they were.

    The one matrix of both is cut in two, and the bias that keeps source tokens from being written is left out, as are tables of
    sinusoids, which no training changes.
    """
    offset = _marked(config)["offset"]
    ids = {f"{name}_token_id": getattr(SPECIAL_IDS, name) for name in ("pad", "bos", "eos", "unk")}
    own = {**config, **ids, "decoder_start_token_id": SPECIAL_IDS.bos}
    tensors = {name: tensors[name] for name in tensors if name not in TABLES}
    if not offset:
        return own, tensors
    sizes = {"vocab_size": offset, "decoder_vocab_size": config["vocab_size"] - offset}
    both = next((tensors[name] for name in EMBEDDINGS if name in tensors), None)
    if both is None or BIAS not in tensors:
        raise ImportModelError(f"the model's weights lack `{EMBEDDINGS[0]}` or `{BIAS}`; copy the whole folder again")
    kept = {name: tensors[name] for name in tensors if name not in (*EMBEDDINGS, HEAD, BIAS)}
    kept |= {EMBEDDINGS[1]: both[:offset], EMBEDDINGS[2]: both[offset:], BIAS: tensors[BIAS][:, offset:]}
    if not config.get("tie_word_embeddings", True):
        kept[HEAD] = tensors[HEAD][offset:]
    return {**own, **sizes, "share_encoder_decoder_embeddings": False}, kept


def read_codecs(folder: Path, config: Mapping[str, Any]) -> tuple[Codec, Codec]:
    """Return the codecs of the run that a marked folder was made from.

    Raises ImportModelError where its `tokenizer.json` is not what this version writes for them.
    """
    mark = _marked(config)
    path, offset, text = folder / TOKENIZER, mark["offset"], mark["text"]
    table = read_json(path)
    try:
        pieces = _pieces(table["model"])
        unigram = text.get("algorithm") == "unigram"
        named = pieces[:offset] if offset else pieces
        others = [(name.removeprefix(TARGET), score) for name, score in pieces[offset:]]
        source = _codec(named, text, unigram=unigram)
        target = _codec(others, text, unigram=unigram) if offset else source
        expected = tokenizer_json(source, target, offset)
        same = all(_plain(table[name]) == _plain(expected[name]) for name in ("model", "normalizer", "pre_tokenizer"))
    except (KeyError, TypeError, ValueError, AttributeError, TextError):
        raise ImportModelError(f"{path} is damaged; export the run again") from None
    if not same:
        raise ImportModelError(
            f"{path} is not the tokeniser that Dragoman wrote for this model, so its text would be cut otherwise; export the run "
            "again, and keep its tokeniser as it is"
        )
    return source, target


def sections(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of the recipe, except the model, of a marked folder."""
    mark = _marked(config)
    guided = {} if mark["guided"] is None else {"guided": mark["guided"]}
    return {
        "data": mark["data"],
        "text": mark["text"],
        "training": {"minutes": 30, **guided},
        "decoding": mark["decoding"],
    }


def _marked(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the entry of a configuration. Raises ImportModelError if it was changed."""
    mark = config[MARK]
    tables = ("data", "text", "decoding")
    whole = isinstance(mark, Mapping) and all(isinstance(mark.get(name), Mapping) for name in tables)
    if not whole or type(mark.get("offset")) is not int or "guided" not in mark:
        raise ImportModelError(f"the entry `{MARK}` of the model's configuration is damaged; export the run again")
    return mark


def _pieces(model: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the names of all tokens with their scores, in the order of their ids; earlier pieces of BPE are better."""
    if isinstance(model["vocab"], list):
        return [(str(name), float(score)) for name, score in model["vocab"]]
    ordered = sorted(model["vocab"].items(), key=lambda one: int(one[1]))
    return [(name, -float(index)) for name, index in ordered]


def _codec(pieces: list[tuple[str, float]], text: Mapping[str, Any], *, unigram: bool) -> Codec:
    """Return the codec of one language."""
    lower = bool(text["lower"])
    if text["kind"] == "characters":
        return Codec(Characters(Vocabulary([name for name, _ in pieces[len(SPECIAL) :]])), lower=lower)
    made = []
    for index, (name, score) in enumerate(pieces):
        control = index < len(SPECIAL) or is_tag(name)
        kind = NORMAL if not control else UNKNOWN if index == SPECIAL_IDS.unk else CONTROL
        spelled = name.replace(LESS, "<") if unigram and not control else name
        made.append(Piece(spelled, 0.0 if control else score, kind))
    model = model_of(made, type_=UNIGRAM if unigram else BPE)
    return Codec(SentencePiece(model, "unigram" if unigram else "bpe"), lower=lower)


def _plain(table: Any) -> Any:
    """Return a table in one form of the several that the library writes: merges as pairs, entries without a value left out."""
    if isinstance(table, Mapping):
        found = {name: _plain(value) for name, value in table.items() if value is not None}
        if "merges" in found:
            found["merges"] = [one.split(" ") if isinstance(one, str) else one for one in found["merges"]]
        return found
    return [_plain(one) for one in table] if isinstance(table, list | tuple) else table
