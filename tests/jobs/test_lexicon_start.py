"""Source embeddings that begin as averages of target embeddings."""

from pathlib import Path

import numpy as np
import torch
import yaml

from dragoman.data.link_counts import TARGETS, LinkCounts
from dragoman.jobs.lexicon_start import averages
from dragoman.jobs.train import fit
from dragoman.runs.folder import open_run
from dragoman.runs.recipe import Recipe
from dragoman.settings import parse
from dragoman.training.reports import Silent


def test_a_token_begins_in_the_direction_of_what_it_was_linked_to() -> None:
    source, target = torch.randn(4, 3), torch.randn(4, 3)
    entries = TARGETS * np.int64([1, 1, 2]) + np.int64([2, 3, 3])
    found = averages(source, target, LinkCounts(entries, np.float64([3.0, 1.0, 0.5])))
    length = source.norm(dim=1).square().mean().sqrt()
    torch.testing.assert_close(found[1], length * torch.nn.functional.normalize(3 * target[2] + target[3], dim=0))
    torch.testing.assert_close(found[2], length * torch.nn.functional.normalize(target[3], dim=0))
    assert torch.equal(found[[0, 3]], source[[0, 3]])


def test_training_begins_with_a_lexicon_where_it_is_asked_for(tmp_path: Path) -> None:
    pairs = [("one house", "mot nha"), ("one tree", "mot cay"), ("house tree", "nha cay"), ("tree one", "cay mot")] * 5
    (tmp_path / "train.en").write_text("".join(f"{source}\n" for source, _ in pairs))
    (tmp_path / "train.vi").write_text("".join(f"{target}\n" for _, target in pairs))
    said = Heard()
    likeness = {lexicon: _likeness(tmp_path, lexicon, said) for lexicon in (False, True)}
    assert _likeness(tmp_path, True, Heard(), weight=0) == likeness[True], "a lexicon does not need a supervised head"
    assert likeness[True] > 0.7 > 0.5 > likeness[False]
    assert [one for one in said.sentences if "lexicon" in one] == [
        "Counting linked tokens, for a lexicon that source embeddings start from.",
        "The lexicon knows 3 of 7 tokens.",
    ]


class Heard(Silent):
    """Keeps what training says."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        """Keep a sentence."""
        self.sentences.append(sentence)


def _likeness(folder: Path, lexicon: bool, listener: Heard, *, weight: float = 0.05) -> float:
    """Train for one tiny step; return the least cosine of a word's embedding with that of its translation."""
    table = yaml.safe_load(f"""
        data: {{source: en, target: vi, train: [{{source: {folder}/train.en, target: {folder}/train.vi}}],
               dev: [{{source: {folder}/train.en, target: {folder}/train.vi}}], filters: {{drop_duplicates: false}}}}
        text: {{kind: words, minimum_count: 1}}
        model: {{kind: rnn, decoder: luong, embedding: 32, hidden: 8, tied: true, lexical: true}}
        training: {{steps: 1, learning_rate: 1.0e-9, guided: {{links: learned, shift: false, weight: {weight},
                    lexicon: {str(lexicon).lower()}}}}}
    """)
    out = folder / f"{lexicon}-{weight}"
    fit(parse(Recipe, table), out, listener=listener)
    run = open_run(out)
    weights = run.load_any(torch.device("cpu")).state_dict()
    words = {"one": "mot", "house": "nha", "tree": "cay"}
    sides = zip((run.source, run.target), ("encoder", "decoder"), (words.keys(), words.values()), strict=True)
    vectors = [
        torch.stack([weights[f"{side}.embedding.weight"][codec.encode(word)[0]] for word in names])
        for codec, side, names in sides
    ]
    return float(torch.cosine_similarity(*vectors).min())
