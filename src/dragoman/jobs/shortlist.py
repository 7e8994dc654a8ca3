"""Learn a run's shortlist from its training text, and save it in the run."""

from itertools import islice
from pathlib import Path

import torch

from dragoman.atomic import check_output
from dragoman.data.corpus import read_pairs
from dragoman.data.filters import PairFilter
from dragoman.data.likely import frequent_targets, likely_targets
from dragoman.decoding.shortlist import Shortlist
from dragoman.inference.torch_engine import output_layer
from dragoman.machine.processes import for_one_process
from dragoman.runs.folder import SHORTLIST, open_run
from dragoman.text.codec import Codec
from dragoman.text.unknown import positional_piece
from dragoman.training.checkpoint import save_tensors


@for_one_process
def make_shortlist(folder: Path, *, likely: int = 50, frequent: int = 100, pairs: int = 100_000) -> Shortlist:
    """Learn, from at most `pairs` training pairs, the `likely` target tokens of each source token, and save them.

    The `frequent` most frequent target tokens, those of the empty source word and all special ones are always allowed.
    Raises InputError if the run does not translate, or in several directions, if it was imported, if its output layer is a
    mixture, or, before anything is learned, if the run cannot be written into.
    """
    run = open_run(folder)
    run.require("translate")
    run.directions.require_one(str(folder))
    run.require_corpora()
    check_output(folder / SHORTLIST)
    cpu = torch.device("cpu")
    output_layer(run.load_model(cpu), str(folder))
    data = run.recipe.data
    pair_filter = PairFilter(data.filters)
    read = (pair for corpus in data.pairs for pair in pair_filter.keep(read_pairs(corpus, data)))
    encoded = [(run.source.encode(pair.source), run.target.encode(pair.target)) for pair in islice(read, pairs)]
    sizes, padding = (len(run.source), len(run.target)), (run.source.special.pad, run.target.special.pad)
    table = torch.from_numpy(likely_targets(encoded, sizes, likely, padding=padding))
    special = torch.tensor(_special(run.target), dtype=torch.int32)
    often = torch.from_numpy(frequent_targets(encoded, frequent))
    always = torch.cat([special, often, table[padding[0]]]).unique()
    about = {"vocabularies": run.vocabularies, "pairs": len(encoded), "likely": likely, "frequent": frequent}
    save_tensors(folder / SHORTLIST, {"always": always, "likely": table}, about, run=folder)
    return Shortlist(always.long(), table.long())


def _special(target: Codec) -> list[int]:
    """Return the ids of the special tokens, including positional unknown words."""
    ids, names = list(target.special.all), target.tokenizer.vocabulary
    for sign in (1, -1):
        offset = 0
        while (found := names.id(positional_piece(offset))) != target.special.unk:
            ids.append(found)
            offset += sign
    return ids
