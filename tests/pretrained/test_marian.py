"""Models as Marian writes them compute what Marian's own formulas say, and what cannot be followed is named."""

import json
import math
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from sentencepiece import SentencePieceProcessor
from tests.pretrained.tokenizer_files import pieces_of, sentencepiece, texts

from dragoman.errors import ImportModelError
from dragoman.interfaces import Padded
from dragoman.pretrained.job import import_model
from dragoman.pretrained.marian import read_marian, read_vocabulary
from dragoman.runs.folder import open_run

WIDTH, HEADS, INNER, LAYERS = 16, 2, 24, 2
SETTINGS: dict[str, Any] = {
    "type": "transformer",
    "dim-emb": WIDTH,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": INNER,
    "enc-depth": LAYERS,
    "dec-depth": LAYERS,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "swish",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-tied-layers": [],
    "transformer-train-positions": False,
    "tied-embeddings": True,
    "tied-embeddings-src": True,
    "tied-embeddings-all": True,
    "max-length": 100,
}
NAMED = {
    ("tied-embeddings-all", False): "does not tie",
    ("transformer-decoder-autoreg", "rnn"): "of recurrent decoders",
}
"""What a refusal says, unless the name of the setting."""
Arrays = dict[str, np.ndarray[Any, Any]]


def random_arrays(vocabulary: int, *, apart: int | None = None, recurrent: bool = False) -> Arrays:
    """Return random arrays with Marian's names; with two vocabularies if the size of the source's is given `apart`."""
    rng = np.random.default_rng(1)

    def draw(*shape: int) -> Any:
        return (0.4 * rng.standard_normal(shape)).astype(np.float32)

    found: Arrays = {"decoder_ff_logit_out_b": draw(1, vocabulary)}
    if apart is None:
        found["Wemb"] = draw(vocabulary, WIDTH)
    else:
        found |= {"encoder_Wemb": draw(apart, WIDTH), "decoder_Wemb": draw(vocabulary, WIDTH)}
    for side, parts in (("encoder", ["self"]), ("decoder", ["self", "context"])):
        for layer in range(1, LAYERS + 1):
            for part in parts:
                place = f"{side}_l{layer}_{part}"
                if recurrent and (side, part) == ("decoder", "self"):
                    place = f"{side}_l{layer}_rnn"
                    found |= {f"{place}_W": draw(WIDTH, WIDTH), f"{place}_Wf": draw(WIDTH, WIDTH)}
                    found |= {f"{place}_bf": draw(1, WIDTH)}
                    found |= {f"{place}_ffn_ln_scale": 1 + draw(1, WIDTH), f"{place}_ffn_ln_bias": draw(1, WIDTH)}
                    continue
                for one in "qkvo":
                    found |= {f"{place}_W{one}": draw(WIDTH, WIDTH), f"{place}_b{one}": draw(1, WIDTH)}
                found |= {f"{place}_Wo_ln_scale": 1 + draw(1, WIDTH), f"{place}_Wo_ln_bias": draw(1, WIDTH)}
            place = f"{side}_l{layer}_ffn"
            found |= {f"{place}_W1": draw(WIDTH, INNER), f"{place}_b1": draw(1, INNER)}
            found |= {f"{place}_W2": draw(INNER, WIDTH), f"{place}_b2": draw(1, WIDTH)}
            found |= {f"{place}_ffn_ln_scale": 1 + draw(1, WIDTH), f"{place}_ffn_ln_bias": draw(1, WIDTH)}
    return found


def write_raw(folder: Path, *, apart: bool = False, sizes: tuple[int, int] = (300, 300), **settings: Any) -> Arrays:
    """Write a random model as Marian does; return its arrays."""
    folder.mkdir()
    sides = [sentencepiece(texts()[side::2], size=size) for side, size in enumerate(sizes)]
    tables = [pieces_of(model)[3:] for model in sides]
    joint = list(dict.fromkeys([*tables[0], *tables[1]]))
    names = []
    for side, model in zip(("source", "target"), sides, strict=True):
        (folder / f"{side}.spm").write_bytes(model)
    counts = []
    for number, side in enumerate(("src", "trg")):
        pieces = ["</s>", "<unk>", *(tables[number] if apart else joint)]
        name = f"vocab.{side if apart else 'both'}.yml"
        lines = [f"{json.dumps(piece, ensure_ascii=False)}: {index}" for index, piece in enumerate(pieces)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        names.append(name)
        counts.append(len(pieces))
    recurrent = settings.get("transformer-decoder-autoreg") == "rnn"
    arrays = random_arrays(counts[1], apart=counts[0] if apart else None, recurrent=recurrent)
    all_settings = SETTINGS | ({"tied-embeddings-src": False, "tied-embeddings-all": False} if apart else {}) | settings
    text = yaml.safe_dump(all_settings).encode() + b"\0"
    np.savez(folder / "model.npz", **arrays, **{"special:model.yml": np.frombuffer(text, dtype=np.int8)})
    decoder = {"models": ["model.npz"], "vocabs": names, "beam-size": 6, "normalize": 1, "relative-paths": True}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return arrays


def position(index: int) -> Any:
    """Return Marian's position embedding."""
    half = WIDTH // 2
    angles = [index * math.exp(number * -math.log(10000) / (half - 1)) for number in range(half)]
    return np.array([math.sin(one) for one in angles] + [math.cos(one) for one in angles])


def marian(arrays: Arrays, source: list[int], target: list[int], *, tied: bool = True) -> Any:
    """Return the logits after the start and after each of `target`, by Marian's formulas in float64 and plain loops."""
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}

    def embedded(table: str, ids: list[int | None]) -> Any:
        rows = [np.zeros(WIDTH) if one is None else wide[table][one] for one in ids]
        return np.stack([math.sqrt(WIDTH) * row + position(index) for index, row in enumerate(rows)])

    def normed(place: str, states: Any) -> Any:
        centred = states - states.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)
        return centred / spread * wide[f"{place}_ln_scale"] + wide[f"{place}_ln_bias"]

    def attended(place: str, queries: Any, keys: Any, causal: bool) -> Any:
        q, k, v = (
            x @ wide[f"{place}_W{one}"] + wide[f"{place}_b{one}"]
            for one, x in zip("qkv", (queries, keys, keys), strict=True)
        )
        size, out = WIDTH // HEADS, np.zeros_like(q)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for row in range(len(q)):
                seen = row + 1 if causal else len(k)
                scores = k[:seen, part] @ q[row, part] / math.sqrt(size)
                weights = np.exp(scores - scores.max())
                out[row, part] = weights / weights.sum() @ v[:seen, part]
        added = out @ wide[f"{place}_Wo"] + wide[f"{place}_bo"] + queries
        return normed(f"{place}_Wo", added)

    def transformed(place: str, states: Any) -> Any:
        inner = states @ wide[f"{place}_W1"] + wide[f"{place}_b1"]
        inner = inner / (1 + np.exp(-inner))
        return normed(f"{place}_ffn", inner @ wide[f"{place}_W2"] + wide[f"{place}_b2"] + states)

    def remembered(place: str, states: Any) -> Any:
        cell, out = np.zeros(WIDTH), []
        for row in states:
            forget = 1 / (1 + np.exp(-(row @ wide[f"{place}_Wf"] + wide[f"{place}_bf"][0])))
            cell = forget * cell + (1 - forget) * (row @ wide[f"{place}_W"])
            out.append(np.maximum(cell, 0) + row)
        return normed(f"{place}_ffn", np.stack(out))

    states = embedded("Wemb" if tied else "encoder_Wemb", [*source])
    for layer in range(1, LAYERS + 1):
        states = attended(f"encoder_l{layer}_self", states, states, False)
        states = transformed(f"encoder_l{layer}_ffn", states)
    output = "Wemb" if tied else "decoder_Wemb"
    written = embedded(output, [None, *target])
    for layer in range(1, LAYERS + 1):
        if f"decoder_l{layer}_rnn_W" in wide:
            written = remembered(f"decoder_l{layer}_rnn", written)
        else:
            written = attended(f"decoder_l{layer}_self", written, written, True)
        written = attended(f"decoder_l{layer}_context", written, states, False)
        written = transformed(f"decoder_l{layer}_ffn", written)
    return written @ wide[output].T + wide["decoder_ff_logit_out_b"]


@pytest.mark.parametrize(
    ("apart", "sizes", "settings"),
    [
        (False, (300, 300), {}),
        (True, (300, 300), {}),
        (True, (300, 200), {}),
        (True, (200, 300), {}),
        (False, (300, 300), {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}),
    ],
    ids=["one vocabulary", "two vocabularies", "a smaller target", "a smaller source", "recurrent units"],
)
def test_logits_are_those_of_marian(
    tmp_path: Path, apart: bool, sizes: tuple[int, int], settings: dict[str, Any]
) -> None:
    arrays = write_raw(tmp_path / "opus", apart=apart, sizes=sizes, **settings)
    import_model(str(tmp_path / "opus"), tmp_path / "run", languages=("en", "vi"))
    run = open_run(tmp_path / "run")
    model = run.load_model(torch.device("cpu")).double()
    source, target = [5, 17, 9, 30, 0], [12, 40, 7, 88, 51, 3]
    given = torch.tensor([[run.target.special.bos, *target]])
    ids = Padded(torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool))
    with torch.no_grad():
        logits = model(ids, given).logits[0].numpy()
    expected = marian(arrays, source, target, tied=not apart)
    count = expected.shape[1]
    assert np.abs(logits[:, :count] - expected).max() < 1e-6 * np.abs(expected).max()
    # Neither padding nor other rows without a piece take probability from Marian's tokens.
    assert np.exp(logits[:, count:].max(-1) - expected.max(-1)).max() < 1e-30
    assert len(run.source) == len(run.target) == run.target.special.pad + 1 > count
    known = read_vocabulary(tmp_path / "opus" / f"vocab.{'src' if apart else 'both'}.yml")
    cut = SentencePieceProcessor(model_file=str(tmp_path / "opus" / "source.spm"))
    for text in (*texts()[::2], "I love cats, and 日本."):
        assert run.source.encode(text) == [known.get(piece, 1) for piece in cut.encode(text, out_type=str)]
    assert run.recipe.decoding.size == 6 and run.languages == ("en", "vi")


def test_a_model_has_the_name_that_marian_gave_it(tmp_path: Path) -> None:
    write_raw(tmp_path / "own")
    (tmp_path / "own" / "decoder.yml").rename(tmp_path / "own" / "model.npz.decoder.yml")
    assert import_model(str(tmp_path / "own"), tmp_path / "run", languages=("en", "vi")).family == "marian"
    (tmp_path / "own" / "model.npz.best-bleu.npz.decoder.yml").write_text("", encoding="utf-8")
    with pytest.raises(
        ImportModelError, match=r"2 models \(model.npz.best-bleu.npz.decoder.yml, .+; copy the one that"
    ):
        import_model(str(tmp_path / "own"), tmp_path / "other", languages=("en", "vi"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("type", "s2s"),
        ("transformer-postprocess", "dhn"),
        ("transformer-preprocess", "n"),
        ("transformer-decoder-autoreg", "average-attention"),
        ("transformer-decoder-autoreg", "rnn"),
        ("transformer-ffn-activation", "gelu"),
        ("transformer-tied-layers", [1, 1]),
        ("transformer-train-positions", True),
        ("transformer-disable-position-embeddings", True),
        ("transformer-attention-mask", "alibi"),
        ("transformer-rnn-projection", True),
        ("right-left", True),
        ("tied-embeddings-all", False),
    ],
)
def test_what_the_transformer_here_does_not_have_is_named(tmp_path: Path, name: str, value: Any) -> None:
    write_raw(tmp_path / "opus", **{name: value})
    with pytest.raises(ImportModelError, match=NAMED.get((name, str(value)), name)):
        import_model(str(tmp_path / "opus"), tmp_path / "run", languages=("en", "vi"))
    assert not (tmp_path / "run").exists()


def test_a_folder_in_the_place_of_pieces_is_refused(tmp_path: Path) -> None:
    write_raw(tmp_path / "opus")
    (tmp_path / "opus" / "source.spm").unlink()
    (tmp_path / "opus" / "source.spm").mkdir()
    with pytest.raises(ImportModelError, match=r"source\.spm, which cuts text into pieces, is missing"):
        import_model(str(tmp_path / "opus"), tmp_path / "run", languages=("en", "vi"))


def test_odd_pieces_are_read(tmp_path: Path) -> None:
    path = tmp_path / "vocab.yml"
    path.write_text(
        '</s>: 0\n<unk>: 1\n~: 2\nnull: 3\n\'12\': 4\n"\\x85": 5\n"\\"": 6\n'
        "': ': 7\n? very\n: 8\n\u2028: 9\n'it''s': 10\n",
        encoding="utf-8",
    )
    found = read_vocabulary(path)
    assert [*found] == ["</s>", "<unk>", "~", "null", "12", "\x85", '"', ": ", "very", "\u2028", "it's"]


@pytest.mark.parametrize("text", ["</s>: 0\n<unk>: 2\n", "</s>\n", "{", "</s>: 0\n</s>: 0\n<unk>: 1\n\n- 3\n"])
def test_a_damaged_vocabulary_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "vocab.yml").write_text(text)
    with pytest.raises(ImportModelError, match=r"vocab\.yml"):
        read_vocabulary(tmp_path / "vocab.yml")


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ("model.npz", r"model\.npz, which decoder\.yml names, is missing"),
        ("source.spm", r"source\.spm, which cuts text into pieces, is missing"),
        ("vocab.both.yml", r"vocab\.both\.yml, which decoder\.yml names, is missing"),
    ],
)
def test_missing_files_are_named(tmp_path: Path, lost: str, named: str) -> None:
    write_raw(tmp_path / "opus")
    (tmp_path / "opus" / lost).unlink()
    with pytest.raises(ImportModelError, match=named):
        read_marian(tmp_path / "opus", tmp_path)


def test_weights_of_other_vocabularies_are_refused(tmp_path: Path) -> None:
    write_raw(tmp_path / "opus")
    with (tmp_path / "opus" / "vocab.both.yml").open("a", encoding="utf-8") as file:
        file.write(f"more: {len(read_vocabulary(tmp_path / 'opus' / 'vocab.both.yml'))}\n")
    with pytest.raises(ImportModelError, match=r"do not belong together"):
        read_marian(tmp_path / "opus", tmp_path)


def flipped(content: bytes) -> bytes:
    """Change a byte of the first array."""
    place = content.index(b"NUMPY") + 200
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def unclosed(_: bytes) -> bytes:
    """Return a whole archive, of one array whose header breaks off."""
    with zipfile.ZipFile(file := BytesIO(), "w") as archive:
        archive.writestr("special:model.yml.npy", b"\x93NUMPY\x01\0\x02\0{(")
    return file.getvalue()


@pytest.mark.parametrize("damage", [flipped, unclosed, lambda content: content[: len(content) // 2], lambda _: b"none"])
def test_a_damaged_archive_is_named(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    write_raw(tmp_path / "opus")
    model = tmp_path / "opus" / "model.npz"
    model.write_bytes(damage(model.read_bytes()))
    with pytest.raises(ImportModelError, match=r"model\.npz is damaged or incomplete \(.+\); download it again"):
        read_marian(tmp_path / "opus", tmp_path)


@pytest.mark.parametrize("lost", ["Wemb", "decoder_l2_context_Wk"])
def test_an_array_that_is_missing_is_named(lost: str, tmp_path: Path) -> None:
    write_raw(tmp_path / "opus")
    rewritten(tmp_path / "opus" / "model.npz", lambda table: table.pop(lost))
    with pytest.raises(ImportModelError, match=rf"lacks the array `{lost}`"):
        read_marian(tmp_path / "opus", tmp_path)


def rewritten(model: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the arrays of a model."""
    with np.load(model) as arrays:
        table = dict(arrays)
    change(table)
    np.savez(model, **table)


def settings_array(text: bytes) -> Any:
    """Return settings as Marian keeps them among the arrays."""
    return np.frombuffer(text + b"\0", dtype=np.int8)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"models": ["model.npz", "source.spm"]}, r"decoder\.yml names an ensemble of 2 models; import each alone"),
        ({"models": ["source.spm"]}, r"source\.spm is in a rounded format; give the \.npz"),
        ({"models": []}, r"decoder\.yml names no `models`"),
        ({"models": ["/", "x" * 300]}, r"decoder\.yml names no `models`"),
        ({"vocabs": ["vocab.both.yml"] * 3}, r"decoder\.yml names 3 vocabularies instead of two"),
        ({"vocabs": ["model.npz.spm"] * 2}, r"model\.npz\.spm is not a SentencePiece model"),
        ({"vocabs": ["source.spm", "target.spm"]}, r"source\.spm does not begin with `</s>` and `<unk>`"),
    ],
)
def test_a_decoder_file_that_cannot_be_followed_is_named(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    write_raw(tmp_path / "opus")
    (tmp_path / "opus" / "model.npz.spm").write_bytes(b"no pieces")
    path = tmp_path / "opus" / "decoder.yml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | change))
    with pytest.raises(ImportModelError, match=named):
        read_marian(tmp_path / "opus", tmp_path)


def test_damaged_text_files_are_named(tmp_path: Path) -> None:
    write_raw(tmp_path / "opus")
    with pytest.raises(ImportModelError, match=r"vocab\.yml is missing; copy the whole folder"):
        read_vocabulary(tmp_path / "opus" / "vocab.yml")
    (tmp_path / "opus" / "decoder.yml").write_text("models: [")
    with pytest.raises(ImportModelError, match=r"decoder\.yml"):
        read_marian(tmp_path / "opus", tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda table: table.pop("special:model.yml"), r"does not hold its settings \(`special:model\.yml`\)"),
        (
            lambda table: table.update({"special:model.yml": settings_array(b"type: [")}),
            r"model\.npz holds settings that cannot be read",
        ),
        (
            lambda table: table.update(
                {"special:model.yml": settings_array(yaml.safe_dump(SETTINGS | {"dim-emb": "wide"}).encode())}
            ),
            r"does not say its `dim-emb`",
        ),
    ],
    ids=["no settings", "settings that cannot be read", "a width that is no number"],
)
def test_settings_that_cannot_be_read_are_named(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], named: str
) -> None:
    write_raw(tmp_path / "opus")
    rewritten(tmp_path / "opus" / "model.npz", change)
    with pytest.raises(ImportModelError, match=named):
        read_marian(tmp_path / "opus", tmp_path)
