"""Start source embeddings from a lexicon, so that what a lexical module says is a translation from the first step on."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.data.link_counts import LinkCounts, count_links
from dragoman.data.stream import BatchStream
from dragoman.layers.embedding import TokenEmbedding
from dragoman.layers.lexical import LexicalModule

LINKED = 100_000
"""At most so many pairs have their links counted, which takes half a minute."""


def start_from_lexicon(model: nn.Module, stream: BatchStream, say: Callable[[str], object]) -> None:
    """Start each source embedding of a model as the average of the embeddings of the target tokens linked to it."""
    assert any(isinstance(part, LexicalModule) for part in model.modules())
    source, target = (getattr(model, side).embedding for side in ("encoder", "decoder"))
    assert isinstance(source, TokenEmbedding) and isinstance(target, TokenEmbedding)
    say("Counting linked tokens, for a lexicon that source embeddings start from.")
    found = count_links(stream.linked(LINKED))
    source.weight.data.copy_(averages(source.weight.data, target.weight.data, found))
    known = len(np.unique(found.sources))
    say(f"The lexicon knows {known:,} of {len(source.weight):,} tokens.")


def averages(source: Tensor, target: Tensor, links: LinkCounts) -> Tensor:
    """Return source embeddings as averages of target embeddings, weighted by counts and as long as random ones on average.

    A token without links keeps its own. WECHSEL begins embeddings of a new language so (Minixhofer et al. 2022, section 2),
    with dictionaries in place of links.
    """
    indices = torch.from_numpy(np.stack([links.sources, links.targets]))
    sizes = (len(source), len(target))
    table = torch.sparse_coo_tensor(
        indices, torch.from_numpy(links.counts), sizes, dtype=source.dtype, check_invariants=True
    )
    sums = table.to(source.device) @ target
    found = sums.norm(dim=1, keepdim=True)
    own = source.norm(dim=1)
    length = own[own > 0].square().mean().sqrt()
    return torch.where(found > 0, length * sums / found.clamp_min(torch.finfo(sums.dtype).tiny), source)
