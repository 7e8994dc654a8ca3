"""Read a model as Marian itself writes it: an .npz file, `decoder.yml`, vocabularies.

It is described in the terms in which Hugging Face saves Marian models (`families.py`, `tokenizers.py`), except for the position
embeddings, which differ: Marian's grow from 1 to 1/10000 over exactly half of the width (Junczys-Dowmunt et al. 2018,
`src/tensors/cpu/tensor_operators.cpp`), while Hugging Face computes those of Vaswani et al. 2017 for its copies.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman import yaml_subset
from dragoman.decoding.settings import LARGEST_PENALTY
from dragoman.errors import ImportModelError, SettingsError, shorten
from dragoman.pretrained.folder import DAMAGE, damaged
from dragoman.regular_files import is_name
from dragoman.settings import read_yaml

DECODER = "decoder.yml"
"""The file that names a model's other files, and how to search: its name in OPUS-MT, and the end of it where Marian wrote it."""
SETTINGS = "special:model.yml"
"""The array of an .npz that holds the settings of training."""
POSITIONS = "positions"
"""Entry of the configuration which says that positions are those of Marian itself."""
NEEDED: Mapping[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-preprocess": ("", None),
    "transformer-postprocess": ("dan", "da"),
    "transformer-postprocess-emb": ("d", "", None),
    "transformer-postprocess-top": ("", None),
    "transformer-decoder-autoreg": ("self-attention", "rnn"),
    "transformer-ffn-activation": ("swish", "relu"),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (2, 0, None),
    "transformer-train-positions": (False, None),
    "transformer-train-position-embeddings": (False, None),
    "transformer-disable-position-embeddings": (False, None),
    "transformer-attention-mask": ("default", None),
    "transformer-no-projection": (False, None),
    "transformer-no-bias": (False, None),
    "transformer-no-affine": (False, None),
    "transformer-rnn-projection": (False, None),
    "transformer-pool": (False, None),
    "layer-normalization": (False, None),
    "right-left": (False, None),
    "input-types": ([], None),
    "transformer-tied-layers": ([], None),
    "transformer-aan-nogate": (False, None),
    "transformer-decoder-dim-ffn": (0, None),
    "output-omit-bias": (False, None),
    "lemma-dim-emb": (0, None),
    "ulr": (False, None),
}
"""Settings of Marian that the Transformer here follows, and their values; None if an old model does not have them."""
EPSILON = 1e-6
"""What Marian's layer norms add to a variance; for its copies Hugging Face adds 1e-5."""
NUMBERS = ("dim-emb", "transformer-heads", "transformer-dim-ffn", "enc-depth", "dec-depth")
"""Settings of Marian that every Transformer has."""
NEVER = -100.0
"""Logit of padding and other rows without a piece, so that they take no probability from Marian's own tokens: an output of
the 0 that its row gives would take some. Not minus infinity, which smoothed losses could not average."""
ATTENTION = {"Wq": "q_proj", "Wk": "k_proj", "Wv": "v_proj", "Wo": "out_proj"}
"""Marian's names of an attention's matrices, and those of Hugging Face."""


def is_marian(folder: Path) -> bool:
    """Tell whether a folder holds a model as Marian writes it."""
    return bool(_decoders(folder))


def read_marian(folder: Path, place: Path) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
    """Return the configuration and the tensors of a model in the terms of Hugging Face, and write its vocabularies to `place`.

    Raises ImportModelError, which names the setting, for a model that is no Transformer after Vaswani et al. 2017.
    """
    decoders = _decoders(folder)
    if len(decoders) > 1:
        raise ImportModelError(
            f"{folder} holds {len(decoders)} models ({', '.join(path.name for path in decoders)}); copy the one that you want as "
            f"{DECODER}"
        )
    decoder = decoders[0]
    table = _yaml(decoder)
    models, vocabularies = (_paths(decoder, table, name) for name in ("models", "vocabs"))
    if len(models) > 1:
        raise ImportModelError(
            f"{decoder} names an ensemble of {len(models)} models; import each alone, with a {DECODER} of its own"
        )
    if models[0].suffix != ".npz":
        raise ImportModelError(f"{models[0]} is in a rounded format; give the .npz that it was made from")
    arrays = _arrays(models[0])
    settings = _settings(models[0], arrays)
    counts = _write_vocabularies(decoder, vocabularies, place)
    config = _config(models[0], settings, arrays, counts=counts)
    beam = table.get("beam-size", 6)
    if type(beam) is not int or beam < 1:
        raise ImportModelError(
            f"{decoder}: `beam-size` is {shorten(beam)}, but it must be a number from 1 on; correct it"
        )
    normalize = table.get("normalize", 0)  # scores are divided by length ** normalize
    if not isinstance(normalize, int | float) or not 0 <= normalize <= LARGEST_PENALTY:
        raise ImportModelError(
            f"{decoder}: `normalize` is {shorten(normalize)}, but it must be a number from 0 to {LARGEST_PENALTY:g}; correct it"
        )
    config |= {"num_beams": beam, "length_penalty": float(normalize), "_name_or_path": folder.name}
    config |= {name: table[name] for name in ("word-penalty",) if name in table}
    return config, dict(_tensors(models[0], settings, arrays, counts=counts))


def _decoders(folder: Path) -> list[Path]:
    """Return the files that name a model: the one that OPUS-MT distributes if it is there, or those that Marian wrote."""
    path = folder / DECODER
    return [path] if path.exists() else sorted(folder.glob(f"*.{DECODER}"))


def read_vocabulary(path: Path) -> dict[str, int]:
    """Return the ids of the pieces in a vocabulary of Marian, a mapping in YAML. Raises ImportModelError if it is damaged.

    Read line by line: general readers of YAML refuse or change pieces such as `~`, `null`, `12` or U+0085.
    """
    ids: dict[str, int] = {}
    key: str | None = None
    try:
        text = path.read_bytes().decode("utf-8")
        for line in text.split("\n"):
            line = line.removesuffix("\r")
            if key is not None and line.startswith(": "):
                ids[key], key = int(line[2:]), None
            elif line.startswith("? "):
                key = _unquoted(line[2:])
            elif found := re.fullmatch(r"(.+): (\d+)", line):
                ids[_unquoted(found[1])] = int(found[2])
            elif line.strip() not in ("", "---", "..."):
                raise ValueError(line)
    except FileNotFoundError:
        raise ImportModelError(f"{path} is missing; copy the whole folder of the model") from None
    except (ValueError, OSError):
        raise ImportModelError(f"{path} is not a vocabulary of Marian, or is damaged; download it again") from None
    if sorted(ids.values()) != list(range(len(ids))):
        raise ImportModelError(f"{path} does not number its {len(ids)} pieces from 0 on; download it again")
    return ids


def _unquoted(text: str) -> str:
    r"""Return what a scalar of YAML stands for.

    >>> _unquoted("'it''s'"), _unquoted('"a\\"b"'), _unquoted("~")
    ("it's", 'a"b', '~')
    """
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(x..|u....|U........|.)", lambda found: _escaped(found[1]), text[1:-1])
    return text


def _escaped(code: str) -> str:
    """Return the character of an escape sequence in YAML."""
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028"}.get(
        code, "\u2029" if code == "P" else code
    )


def _yaml(path: Path) -> dict[str, Any]:
    """Read settings in YAML."""
    try:
        return read_yaml(path)
    except SettingsError as error:
        raise ImportModelError(str(error)) from None


def _paths(decoder: Path, table: Mapping[str, Any], name: str) -> list[Path]:
    """Return the paths of files that `decoder.yml` names, which must be in its folder."""
    given = table.get(name)
    named = [Path(one).name for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)]
    paths = [decoder.parent / one for one in named if is_name(one)]
    if not paths:
        raise ImportModelError(f"{decoder} names no `{name}`; copy the whole folder of the model")
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise ImportModelError(f"{missing}, which {decoder.name} names, is missing; copy the whole folder of the model")
    return paths


def _arrays(path: Path) -> Any:
    """Open an .npz, whose arrays are read when they are asked for."""
    try:
        with zipfile.ZipFile(path):  # numpy would leave a damaged file open
            pass
        return np.load(path, allow_pickle=False)
    except (*DAMAGE, OSError, ValueError) as error:
        raise damaged(path, error) from None


def _array(path: Path, arrays: Any, name: str) -> Any:
    """Read one array."""
    if name not in arrays:
        raise ImportModelError(f"{path} lacks the array `{name}`; it is incomplete, or no Transformer")
    try:
        return arrays[name]
    except (*DAMAGE, OSError, ValueError, TokenError, SyntaxError) as error:  # the last two for headers
        raise damaged(path, error) from None


def _settings(path: Path, arrays: Any) -> dict[str, Any]:
    """Return the settings of training that a model holds; ImportModelError for one that cannot be followed."""
    if SETTINGS not in arrays:
        raise ImportModelError(f"{path} does not hold its settings (`{SETTINGS}`); it was not written by Marian")
    text = _array(path, arrays, SETTINGS).tobytes().rstrip(b"\0").decode("utf-8", "replace")
    settings = _parsed(path, text)
    for name, values in NEEDED.items():
        value = settings.get(name)
        if value not in values:
            raise ImportModelError(
                f"{path} has `{name}: {value}`, which the Transformer here does not have; known: {_listed(values)}"
            )
    if _recurrent(settings) and settings.get("dec-cell") != "ssru":
        raise ImportModelError(
            f"{path} has `dec-cell: {settings.get('dec-cell')}`; of recurrent decoders only `ssru` is known"
        )
    missing = [name for name in NUMBERS if not isinstance(settings.get(name), int)]
    if missing:
        raise ImportModelError(f"{path} does not say its `{missing[0]}`; it was not written by Marian")
    target = settings.get("tied-embeddings") and not settings.get("tied-embeddings-src")
    if not (settings.get("tied-embeddings-all") or target):
        raise ImportModelError(
            f"{path} does not tie its output layer to the target embedding, or ties it to the source alone; known: "
            "`tied-embeddings` and `tied-embeddings-all`"
        )
    return settings


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """Parse the settings in a model."""
    try:
        table = yaml_subset.read(text)
    except yaml_subset.YamlProblem:
        table = None
    if not isinstance(table, dict):
        raise ImportModelError(f"{path} holds settings that cannot be read; download it again")
    return table


def _listed(values: tuple[Any, ...]) -> str:
    """Return the values that a setting may have, for a message."""
    return " or ".join(f"`{value}`" for value in values if value is not None)


def _write_vocabularies(decoder: Path, paths: list[Path], place: Path) -> list[int]:
    """Write vocabularies as Hugging Face has them; return the number of pieces of each, without the padding that is added.

    Padding has one id on both sides, behind the pieces of the larger vocabulary.
    """
    if len(paths) != 2:
        raise ImportModelError(f"{decoder} names {len(paths)} vocabularies instead of two; copy it again")
    tables = []
    names = (("source.spm", "vocab.json"), ("target.spm", "target_vocab.json"))
    for path, (model, _) in zip(paths, names, strict=True):
        if path.suffix == ".spm":
            ids, content = _pieces(path), path.read_bytes()
        else:
            ids, content = read_vocabulary(path), _segmenter(decoder.parent, model)
        if ids.get("</s>") != 0 or ids.get("<unk>") != 1:
            raise ImportModelError(f"{path} does not begin with `</s>` and `<unk>`; it was not made for Marian")
        (place / model).write_bytes(content)
        tables.append(ids)
    padding = max(map(len, tables))
    for ids, (_, table) in zip(tables, names, strict=True):
        text = json.dumps({**ids, "<pad>": padding}, ensure_ascii=False)
        (place / table).write_text(text, encoding="utf-8")
    if (place / names[0][1]).read_bytes() == (place / names[1][1]).read_bytes():
        (place / names[1][1]).unlink()
    return [len(ids) for ids in tables]


def _segmenter(folder: Path, name: str) -> bytes:
    """Return the SentencePiece model of one side."""
    path = folder / name
    if path.is_file():
        return path.read_bytes()
    others = sorted(found.name for found in folder.glob("*.bpe*")) + sorted(
        found.name for found in folder.glob("*.code*")
    )
    found = f"; {others[0]} looks like merges of subword-nmt, which are not supported" if others else ""
    raise ImportModelError(f"{path}, which cuts text into pieces, is missing{found}; give a model with SentencePiece")


def _pieces(path: Path) -> dict[str, int]:
    """Return the ids of the pieces of a SentencePiece model that is also the vocabulary."""
    from sentencepiece import SentencePieceProcessor

    try:
        processor = SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError):
        raise ImportModelError(f"{path} is not a SentencePiece model; download it again") from None
    return {processor.id_to_piece(index): index for index in range(len(processor))}


def _config(path: Path, settings: Mapping[str, Any], arrays: Any, *, counts: list[int]) -> dict[str, Any]:
    """Return the configuration of a model in the terms of Hugging Face."""
    shared = bool(settings.get("tied-embeddings-all"))
    embeddings = ("Wemb", "Wemb") if shared else ("encoder_Wemb", "decoder_Wemb")
    rows = [len(_array(path, arrays, name)) for name in embeddings]
    if rows != counts:
        raise ImportModelError(
            f"{path} has {rows[0]} and {rows[1]} rows of embeddings, but its vocabularies have {counts[0]} and "
            f"{counts[1]} pieces; they do not belong together"
        )
    size = max(counts) + 1
    width, heads, inner = (settings[name] for name in ("dim-emb", "transformer-heads", "transformer-dim-ffn"))
    table: dict[str, Any] = {"model_type": "marian", POSITIONS: "marian", "d_model": width}
    for side, depth in (("encoder", "enc-depth"), ("decoder", "dec-depth")):
        table |= {f"{side}_layers": settings[depth], f"{side}_attention_heads": heads, f"{side}_ffn_dim": inner}
    return {
        **table,
        "norm_epsilon": EPSILON,
        "autoregression": "ssru" if _recurrent(settings) else "attention",
        "activation_function": settings["transformer-ffn-activation"],
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": True,
        "vocab_size": size,
        "decoder_vocab_size": size,
        "pad_token_id": size - 1,
        "decoder_start_token_id": size - 1,
        "eos_token_id": 0,
        "max_position_embeddings": int(settings.get("max-length") or 512),
    }


def _tensors(
    path: Path, settings: Mapping[str, Any], arrays: Any, *, counts: list[int]
) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a model by the names of Hugging Face; rows that no piece has are 0, as is Marian's start."""
    added = [max(counts) + 1 - count for count in counts]

    def read(name: str) -> Tensor:
        return torch.from_numpy(_array(path, arrays, name)).float()

    def padded(name: str, rows: int) -> Tensor:
        return torch.nn.functional.pad(read(name), (0, 0, 0, rows))

    if settings.get("tied-embeddings-all"):
        yield "model.shared.weight", padded("Wemb", added[0])
    else:
        for side, rows in zip(("encoder", "decoder"), added, strict=True):
            yield f"model.{side}.embed_tokens.weight", padded(f"{side}_Wemb", rows)
    yield "final_logits_bias", torch.nn.functional.pad(read("decoder_ff_logit_out_b"), (0, added[1]), value=NEVER)
    for side, depth in (("encoder", "enc-depth"), ("decoder", "dec-depth")):
        parts = {"self": "self_attn"} | ({"context": "encoder_attn"} if side == "decoder" else {})
        for number in range(settings[depth]):
            own, other = f"{side}_l{number + 1}", f"model.{side}.layers.{number}"
            for part, name in parts.items():
                if part == "self" and side == "decoder" and _recurrent(settings):
                    yield from _unit(read, f"{own}_rnn", f"{other}.{name}")
                else:
                    yield from _attention(read, f"{own}_{part}", f"{other}.{name}")
            for index in (1, 2):
                yield f"{other}.fc{index}.weight", read(f"{own}_ffn_W{index}").T.contiguous()
                yield f"{other}.fc{index}.bias", read(f"{own}_ffn_b{index}").flatten()
            yield from _norm(read, f"{own}_ffn_ffn", f"{other}.final_layer_norm")


def _attention(read: Any, own: str, other: str) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of one attention and its norm; Marian's matrices have a column for each output."""
    for matrix, name in ATTENTION.items():
        yield f"{other}.{name}.weight", read(f"{own}_{matrix}").T.contiguous()
        yield f"{other}.{name}.bias", read(f"{own}_{matrix.replace('W', 'b')}").flatten()
    yield from _norm(read, f"{own}_Wo", f"{other}_layer_norm")


def _unit(read: Any, own: str, other: str) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of one recurrent unit and its norm."""
    yield f"{other}.inner_proj.weight", read(f"{own}_W").T.contiguous()
    yield f"{other}.forget_proj.weight", read(f"{own}_Wf").T.contiguous()
    yield f"{other}.forget_proj.bias", read(f"{own}_bf").flatten()
    yield from _norm(read, f"{own}_ffn", f"{other}_layer_norm")


def _recurrent(settings: Mapping[str, Any]) -> bool:
    """Tell whether decoders have recurrent units in place of self-attention."""
    return bool(settings.get("transformer-decoder-autoreg") == "rnn")


def _norm(read: Any, own: str, other: str) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of one layer norm."""
    for ending, name in (("scale", "weight"), ("bias", "bias")):
        yield f"{other}.{name}", read(f"{own}_ln_{ending}").flatten()
