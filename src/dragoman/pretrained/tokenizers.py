"""From the tokeniser's files of a pretrained model to codecs with the same ids.

The rules are those of transformers 5.23.0 and, for NLLB, mBART and Pegasus, the order of ids in fairseq and in Pegasus itself.
What is different on purpose is in `text/imported.py`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.errors import ImportModelError, shorten
from dragoman.pretrained.folder import read_json
from dragoman.pretrained.language_codes import M2M100, MBART25, MBART50, NLLB, WMT21, is_several
from dragoman.pretrained.sentencepiece_files import Added, Segmenter, added_tokens, read_segmenter
from dragoman.special_ids import SpecialIds
from dragoman.text.codec import Codec
from dragoman.text.frames import Between, Frame, Frames, near
from dragoman.text.imported import Imported, Table
from dragoman.text.tags import tag_piece

Config = Mapping[str, Any]
"""Settings of a model and its tokeniser, by their names in Hugging Face's files."""

Prefixes = Mapping[tuple[str, str], tuple[str, str]]
"""For a direction, the words before a source and those that a target begins with; either may be empty."""

CONTROL = frozenset({"<s>", "</s>", "<pad>", "<mask>"})
"""Tokens that stand for no text in any family."""
CALLED = "called"
"""Entry of the settings that the import adds: the target language as the name of the model has it, say `vi` for `vie`."""
WRITTEN = "written"
"""Another: the target language that was asked for, or None."""
READ = (
    *("tokenizer_class", "legacy_behaviour", "language_codes", "offset", "extra_ids"),
    *("source_lang", "target_lang", "src_lang", "tgt_lang"),
)
"""Entries of `tokenizer_config.json` that are read. Others, such as `max_length`, say how the tokeniser was last used."""
SPARE = 10_000
"""Rows of embeddings that may have no token; usual are those that fill up a multiple of 128."""
SENTENCEPIECE = ("sentencepiece.bpe.model", "spiece.model", "spm.model")
"""Names of files with a SentencePiece model."""


@dataclass(frozen=True)
class Numbered:
    """The ids of a vocabulary's tokens, and its languages."""

    ids: Mapping[str, int]
    size: int
    """Number of rows of the embeddings."""
    silent: frozenset[str] = frozenset()
    """Tokens that stand for no text, besides `CONTROL` and languages."""
    languages: Mapping[str, int] = field(default_factory=dict)
    """The ids of languages, by their names for users."""


def load_codecs(folder: Path, config: Config, *, prefixes: Prefixes | None = None) -> tuple[Codec, Codec]:
    """Return the codecs of source and target, whose ids are those of the model's embeddings.

    `config` has the settings of the model, those of generation and those of the tokeniser. Rows of embeddings without a token
    get names such as `<unused 17>`. `prefixes` are for T5, where the model's own settings have none. Raises ImportModelError
    for a tokeniser that is missing, damaged, does not belong to the model, or is of another kind.
    """
    build = _FAMILIES.get(str(config.get("model_type")))
    if build is None:
        raise ImportModelError(
            f"{folder} has the `model_type` `{config.get('model_type')}`, whose tokeniser is not known; known: "
            f"{', '.join(_FAMILIES)}"
        )
    _check_class(folder, config, CLASSES[build])
    if prefixes and build is not _t5:
        raise ImportModelError(f"a prefix of words is only for T5, not for `{config['model_type']}`; remove it")
    try:
        return build(folder, {**config, "prefixes": dict(prefixes)} if prefixes else config)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImportModelError(
            f"the tokeniser's files in {folder} are damaged ({error}); download them again"
        ) from None


def _check_class(folder: Path, config: Config, known: Sequence[str]) -> None:
    """Raise ImportModelError for a tokeniser that puts other tokens around a text, or numbers pieces otherwise."""
    name = str(config.get("tokenizer_class") or GENERIC[0])
    if name.removesuffix("Fast") not in (*known, *GENERIC):
        raise ImportModelError(
            f"{folder} has the tokeniser `{shorten(name)}`, whose rules are not known here; a model of the `model_type` "
            f"`{config['model_type']}` can be imported with {' or '.join(known)}"
        )


def _marian(folder: Path, config: Config) -> tuple[Codec, Codec]:
    """Marian: pieces by source.spm and target.spm, ids by vocab.json; a source begins with `>>fra<<` if there are such tokens."""
    sides = [_spm(folder, f"{side}.spm") for side in ("source", "target")]
    ids, size, added = read_json(folder / "vocab.json"), _whole(config, "vocab_size"), added_tokens(folder)
    added |= {mark: Added(added[mark].id, special=True) for mark in _marks(added)}
    both = _with_added(folder, Numbered(ids, size, _special(added)), added)
    tables = [replace(both, languages=_marked(both.ids))] * 2
    if (folder / "target_vocab.json").exists():
        ids, size = read_json(folder / "target_vocab.json"), _whole(config, "decoder_vocab_size", size)
        tables[1] = Numbered(ids, size, languages=_marked(ids))
    languages = tables[0].languages
    rules = {Between(target=name): Frame((index,)) for name, index in languages.items()}
    usual = Between(target=config.get("target_lang"))
    if languages and isinstance(usual.target, str) and not is_several(usual.target, languages):
        rules.setdefault(usual, Frame())  # many models of one target have such tokens too, and need none
        rules.setdefault(Between(target=config.get(CALLED) or usual.target), rules[usual])
    source, target = (
        _table(folder, config, one, starts_with=one.ids["<pad>"], frames=Frames(own))
        for one, own in zip(tables, (rules, {}), strict=True)
    )
    return Codec(Imported(sides[0].model, source)), Codec(Imported(sides[1].model, target))


def _marked(ids: Mapping[str, int]) -> dict[str, int]:
    """Return the languages that a vocabulary of Marian has tokens of, such as `>>fra<<`."""
    return {language: ids[mark] for mark, language in _marks(ids).items()}


def _marks(pieces: Iterable[str]) -> dict[str, str]:
    """Return the languages that some pieces stand for.

    >>> _marks([">>fra<<", "fra"])
    {'>>fra<<': 'fra'}
    """
    return {piece: found[1] for piece in pieces if (found := re.fullmatch(r">>([^<>\s]+)<<", piece))}


def _spm(folder: Path, name: str) -> Segmenter:
    """Read one of Marian's SentencePiece models."""
    if not (folder / name).exists():
        raise ImportModelError(
            f"{folder} has no {name}; copy the whole folder (the oldest models of OPUS-MT have files of another program for byte "
            "pair encoding instead, which are not supported)"
        )
    return read_segmenter(folder, name)


def _m2m(folder: Path, config: Config) -> tuple[Codec, Codec]:
    """M2M100: pieces by SentencePiece, ids by vocab.json, then languages; without a vocab.json it is NLLB."""
    if not (folder / "vocab.json").exists():
        return _fairseq(folder, config, NLLB, after=config.get("legacy_behaviour") is True)
    segmenter, added = read_segmenter(folder, *SENTENCEPIECE), added_tokens(folder)
    ids = read_json(folder / "vocab.json")
    codes = WMT21 if config.get("language_codes") == "wmt21" else M2M100
    languages = {code: len(ids) + number for number, code in enumerate(codes)}
    named = {f"__{code}__": index for code, index in languages.items()}
    numbered = Numbered({**ids, **named}, _whole(config, "vocab_size"), _special(added), languages)
    return _of_many(folder, config, segmenter, numbered=_with_added(folder, numbered, added), after=False)


def _mbart(folder: Path, config: Config) -> tuple[Codec, Codec]:
    """mBART-50, with the language before the source, or mBART, with the language after it."""
    name = str(config.get("tokenizer_class"))
    told = name.removesuffix("Fast") not in GENERIC
    fifty = "50" in name if told else MBART50[-1] in added_tokens(folder)
    return _fairseq(folder, config, MBART50 if fifty else MBART25, after=not fifty)


def _fairseq(folder: Path, config: Config, codes: Sequence[str], *, after: bool) -> tuple[Codec, Codec]:
    """NLLB and mBART: `<s> <pad> </s> <unk>`, the pieces of SentencePiece from its fourth on, the languages, `<mask>`."""
    segmenter, added = read_segmenter(folder, *SENTENCEPIECE), added_tokens(folder)
    if segmenter.final:
        ids = dict(zip(segmenter.pieces, range(len(segmenter.pieces)), strict=True))
    else:
        ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        ids |= {piece: index + 1 for index, piece in enumerate(segmenter.pieces) if index > 2}
    if not any(code in ids or code in added for code in codes):
        ids |= {code: len(ids) + number for number, code in enumerate(codes)}
        ids.setdefault("<mask>", len(ids))
    found = {**ids, **{text: one.id for text, one in added.items()}}
    own = [text for text, one in added.items() if one.special and re.fullmatch(r"[a-z]{2,3}_[A-Za-z]{2,4}", text)]
    languages = {code: found[code] for code in dict.fromkeys((*codes, *own)) if code in found}
    numbered = Numbered(ids, _whole(config, "vocab_size"), segmenter.silent | _special(added), languages)
    return _of_many(folder, config, segmenter, numbered=_with_added(folder, numbered, added), after=after)


def _of_many(
    folder: Path, config: Config, segmenter: Segmenter, *, numbered: Numbered, after: bool
) -> tuple[Codec, Codec]:
    """Return the codec, the same for both sides, of a model that reads the language of the source, and writes that of the target.

    A model that always writes one language says so by the token that is forced, or with which its decoder starts.
    """
    eos, languages = _whole(config, "eos_token_id", 2), numbered.languages
    frames = {
        Between(source=name): Frame((), (eos, index)) if after else Frame((index,)) for name, index in languages.items()
    }
    first, forced = config.get("decoder_start_token_id"), config.get("forced_bos_token_id")
    if first is None and forced is None and after and config["model_type"] == "mbart":
        first = _written(folder, config, languages)
    written = {name: index for name, index in languages.items() if index in (first, forced)} or languages
    starts = {Between(target=name): Frame() if index == first else Frame((index,)) for name, index in written.items()}
    begun = {**config, "decoder_start_token_id": first}
    table = _table(folder, begun, numbered, starts_with=eos, frames=Frames(frames), starts=Frames(starts))
    codec = Codec(Imported(segmenter.model, table))
    return codec, codec


def _written(folder: Path, config: Config, languages: Mapping[str, int]) -> int:
    """Return the id of the target language, with which the decoder of the first mBART starts where its settings do not say it.

    So it was trained in fairseq, and is in transformers, where every call of `generate` must then say it.
    """
    target = config.get(WRITTEN) or config.get("tgt_lang")
    if target is None:
        raise ImportModelError(
            f"the decoder of {folder} starts with the code of the target language, but its settings do not say which that is "
            "(`decoder_start_token_id`); name it with `--to`, such as `--to vi_VN`"
        )
    if target not in languages:
        raise ImportModelError(f"{folder} does not know the target language `{target}`{near(target, tuple(languages))}")
    return languages[target]


def _pegasus(folder: Path, config: Config) -> tuple[Codec, Codec]:
    """Pegasus: `<pad> </s>`, tokens of its pretraining, and the pieces of SentencePiece from its third on, `offset` further."""
    segmenter, added = read_segmenter(folder, *SENTENCEPIECE), added_tokens(folder)
    offset, size = _whole(config, "offset", 103), _whole(config, "vocab_size")
    ids = {"<pad>": 0, "</s>": 1}
    if segmenter.final:
        ids = dict(zip(segmenter.pieces, range(len(segmenter.pieces)), strict=True))
    else:
        others = range(2, min(offset, size))
        masks = ("<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in others)) if offset else ()
        ids |= {name: number for number, name in enumerate(masks, 2)}
        ids |= {piece: index + offset for index, piece in enumerate(segmenter.pieces) if index > 1}
    reserved = frozenset(piece for piece in ids if re.fullmatch(r"<(mask|unk)_\d+>", piece))
    numbered = Numbered(ids, size, segmenter.silent | reserved | _special(added))
    table = _table(folder, config, _with_added(folder, numbered, added), starts_with=0)
    codec = Codec(Imported(segmenter.model, table))
    return codec, codec


def _t5(folder: Path, config: Config) -> tuple[Codec, Codec]:
    """T5: the pieces of SentencePiece, then `<extra_id_99>` to `<extra_id_0>`; words before the source say what to do."""
    segmenter, added = read_segmenter(folder, *SENTENCEPIECE), added_tokens(folder)
    ids = dict(zip(segmenter.pieces, range(len(segmenter.pieces)), strict=True))
    size, extra = _whole(config, "vocab_size"), _whole(config, "extra_ids", 100)
    named = any(re.fullmatch(r"<extra_id_\d+>", piece) for piece in (*ids, *added))
    if not named and extra <= min(SPARE, size - len(ids)):
        names = [f"<extra_id_{number}>" for number in reversed(range(extra))]
        ids |= {name: len(ids) + number for number, name in enumerate(names)}
    sentinels = frozenset(piece for piece in ids if re.fullmatch(r"<extra_id_\d+>", piece))
    numbered = _with_added(folder, Numbered(ids, size, segmenter.silent | sentinels | _special(added)), added)
    codec = Codec(Imported(segmenter.model, _table(folder, config, numbered, starts_with=0)))
    known: Prefixes = config.get("prefixes") or _tasks(config)
    frames = {Between(*way): Frame(tuple(codec.encode(words))) for way, (words, _) in known.items()}
    starts = {Between(*way): Frame(tuple(codec.encode(words))) for way, (_, words) in known.items()}
    table = _table(folder, config, numbered, starts_with=0, frames=Frames(frames))
    if any(frame.before for frame in starts.values()):
        table = replace(table, starts=Frames(starts))
    codec = Codec(Imported(segmenter.model, table))
    return codec, codec


def _tasks(config: Config) -> Prefixes:
    """Return the prefixes of translation in the settings of T5 itself, such as `translate English to German: `."""
    found = {}
    for name, task in (config.get("task_specific_params") or {}).items():
        way = re.fullmatch(r"translation_([a-z]+)_to_([a-z]+)", name)
        if way and isinstance(task, Mapping) and task.get("prefix"):
            found[way[1], way[2]] = (str(task["prefix"]), "")
    return found


def _table(
    folder: Path,
    config: Config,
    numbered: Numbered,
    *,
    starts_with: int,
    frames: Frames | None = None,
    starts: Frames | None = None,
) -> Table:
    """Return the table of a vocabulary. ImportModelError for ids that are given twice, or for rows that do not fit them."""
    if numbered.size > len(numbered.ids) + SPARE:
        raise ImportModelError(
            f"the tokeniser in {folder} has {len(numbered.ids)} tokens, but the model has {numbered.size} rows of embeddings; "
            "they do not belong together"
        )
    pieces = [unused(index) for index in range(numbered.size)]
    given: set[int] = set()
    for piece, index in numbered.ids.items():
        if type(index) is not int or not 0 <= index < numbered.size:
            raise ImportModelError(
                f"the tokeniser in {folder} gives `{piece}` the id {index}, but the model has {numbered.size} rows of "
                "embeddings; they do not belong together"
            )
        if index in given:
            raise ImportModelError(
                f"the tokeniser in {folder} gives `{piece}` and `{pieces[index]}` the same id {index}; download it again"
            )
        given.add(index)
        pieces[index] = piece
    unknown, eos = numbered.ids["<unk>"], _whole(config, "eos_token_id", numbered.ids["</s>"])
    pad, bos = (
        _whole(config, "pad_token_id", numbered.ids["<pad>"]),
        _whole(config, "decoder_start_token_id", starts_with),
    )
    for name, index in (("pad_token_id", pad), ("eos_token_id", eos), ("decoder_start_token_id", bos)):
        if not 0 <= index < numbered.size:
            raise ImportModelError(
                f"`{name}` is {index} in the settings in {folder}, but the model has {numbered.size} rows"
            )
    quiet = CONTROL | numbered.silent
    silent = {index for index, piece in enumerate(pieces) if index not in given or piece in quiet} - {unknown}
    return Table(
        tuple(pieces),
        SpecialIds(pad=pad, bos=bos, eos=eos, unk=unknown, mask=bos),
        frozenset(silent | set(numbered.languages.values())),
        {tag_piece(name): index for name, index in numbered.languages.items()},
        frames or Frames(),
        starts or Frames(),
    )


def unused(index: int) -> str:
    """Name a row of the embeddings that no token has."""
    return f"<unused {index}>"


def _with_added(folder: Path, numbered: Numbered, added: Mapping[str, Added]) -> Numbered:
    """Return a vocabulary with the tokens that were added to it, none of them text: SentencePiece would not find those."""
    text = [name for name, one in added.items() if not one.special and name not in numbered.ids]
    if text:
        raise ImportModelError(
            f"the tokeniser in {folder} has tokens of text that its SentencePiece model lacks (such as `{text[0]}`, {len(text)} "
            "in all), which is not supported; give a model without `add_tokens`"
        )
    more = {name: one.id for name, one in added.items() if name not in numbered.ids}
    return replace(numbered, ids={**numbered.ids, **more})


def _special(added: Mapping[str, Added]) -> frozenset[str]:
    """Return the added tokens that stand for no text."""
    return frozenset(name for name, one in added.items() if one.special and name != "<unk>")


def _whole(config: Config, name: str, default: int | None = None) -> int:
    """Return a whole number of the settings. ImportModelError names one that is missing or is something else."""
    value = config.get(name)
    value = default if value is None else value[0] if isinstance(value, list) and len(value) == 1 else value
    if type(value) is not int:
        raise ImportModelError(
            f"`{name}` is {'missing' if value is None else repr(value)} in the model's settings, but must be a number; download "
            "config.json again"
        )
    return value


_FAMILIES: Mapping[str, Callable[..., tuple[Codec, Codec]]] = {
    "marian": _marian,
    "m2m_100": _m2m,
    "mbart": _mbart,
    "pegasus": _pegasus,
    "t5": _t5,
    "mt5": _t5,
}
CLASSES: Mapping[Callable[..., tuple[Codec, Codec]], tuple[str, ...]] = {
    _marian: ("MarianTokenizer",),
    _m2m: ("M2M100Tokenizer", "NllbTokenizer"),
    _mbart: ("MBartTokenizer", "MBart50Tokenizer"),
    _pegasus: ("PegasusTokenizer",),
    _t5: ("T5Tokenizer", "MT5Tokenizer"),
}
"""Classes of tokenisers in transformers, without `Fast` at the end, whose rules are followed here."""
GENERIC = ("PreTrainedTokenizer", "TokenizersBackend")
"""Names of classes that say nothing of the rules."""
