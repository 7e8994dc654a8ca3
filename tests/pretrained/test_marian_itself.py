"""Imported models compute what Marian itself computes, which trains, writes, translates and scores with them here.

Marian's Python package is not among the dependencies, because it takes 1 GB; `pip install pymarian` lets these tests run.
"""

import subprocess
import sys
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from tests.pretrained.tokenizer_files import texts

from dragoman.inference.translator import Translator
from dragoman.pretrained.job import import_model

pytestmark = [
    pytest.mark.skipif(find_spec("_pymarian") is None, reason="compares with Marian: pip install pymarian"),
    pytest.mark.slow,
]
SHAPE = [
    "--dim-emb",
    "16",
    "--transformer-heads",
    "2",
    "--transformer-dim-ffn",
    "24",
    "--enc-depth",
    "2",
    "--dec-depth",
    "2",
]
SOURCES = [*texts()[:40:2], "日本 emoji 😀", "two  spaces and Ａ", "x"]
TARGETS = [*texts()[1:41:2], "日本 😀 ờ", "Ａ  b", "x"]
PRINTED = 5e-6
"""Marian prints five decimals."""


def marian(*arguments: str | Path, given: str = "") -> list[str]:
    """Run Marian, which ends its process at an error; return the lines that it prints."""
    program = "import sys, _pymarian; _pymarian.main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments), "--cpu-threads", "1", "--quiet"],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def write(folder: Path, *settings: str) -> list[str | Path]:
    """Let Marian write vocabularies and a model into a folder; give its arrays random values. Return options that name them."""
    folder.mkdir()
    (folder / "src").write_text("\n".join(texts()[::2]), encoding="utf-8")
    (folder / "trg").write_text("\n".join(texts()[1::2]), encoding="utf-8")
    model = folder / "model.npz"
    shared = "--tied-embeddings-all" in settings
    vocabularies = [folder / ("both.spm" if shared else f"{side}.spm") for side in ("src", "trg")]
    files = ["--train-sets", folder / "src", folder / "trg", "--model", model, "--vocabs", *vocabularies]
    sizes = ["--dim-vocabs", "300", "300", "--mini-batch", "16", "--after-batches", "1", "--workspace", "128"]
    sizes += ["--type", "transformer", "--sentencepiece-options", "--hard_vocab_limit=false"]
    marian("train", *files, *sizes, *SHAPE, *settings)
    with np.load(model) as written:
        arrays = dict(written)
    rng = np.random.default_rng(5)
    for name, array in arrays.items():
        if not name.startswith("special"):
            noise = 0.3 * rng.standard_normal(array.shape).astype(np.float32)
            arrays[name] = 1 + noise if name.endswith("ln_scale") else noise
    np.savez(model, **arrays)
    return ["-m", model, "--vocabs", *vocabularies]


def scores(line: str) -> list[float]:
    """Return the log-probabilities of tokens in a line of Marian's."""
    return [float(one) for one in line.split("WordScores= ")[1].split(" |||")[0].split()]


@pytest.mark.parametrize(
    "settings",
    [
        "--tied-embeddings-all --transformer-ffn-activation swish",
        "--tied-embeddings --transformer-ffn-activation relu",
        "--tied-embeddings-all --transformer-ffn-activation relu --transformer-decoder-autoreg rnn --dec-cell ssru",
    ],
    ids=["one vocabulary", "two vocabularies", "recurrent units"],
)
def test_translations_and_log_probabilities_are_those_of_marian(settings: str, tmp_path: Path) -> None:
    files = write(tmp_path / "model", *settings.split())
    import_model(str(tmp_path / "model"), tmp_path / "run", languages=("en", "vi"))
    translator = Translator.load(tmp_path / "run")
    for name, lines in (("from", SOURCES), ("to", TARGETS)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    scored = marian("score", *files, "--train-sets", tmp_path / "from", tmp_path / "to", "--word-scores")
    assert len(scored) == len(SOURCES)
    for found, line in zip(translator.score_tokens(SOURCES, TARGETS), scored, strict=True):
        np.testing.assert_allclose(found.token_log_probs, scores(line), rtol=1e-6, atol=2 * PRINTED)
    way = ["--beam-size", "1", "--n-best", "--word-scores", "--allow-unk", "--max-length-factor", "1"]
    written = marian("decode", *files, *way, given="\n".join(SOURCES) + "\n")
    for found, line in zip(translator.translate(SOURCES, method="greedy", maximum_ratio=4), written, strict=True):
        expected = scores(line)
        text = line.split(" ||| ")[1]
        whole = list(accumulate(translator.target.pieces(found.ids)))
        assert text.replace(" ", "") == whole[min(len(expected), len(whole)) - 1].replace("▁", "")
        np.testing.assert_allclose(found.token_log_probs[: len(expected)], expected, rtol=1e-6, atol=2 * PRINTED)
    assert len(written) == len(SOURCES)
