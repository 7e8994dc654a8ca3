"""Putting source words where a model could only say "unknown"."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor


def replace_unknown(
    words: Sequence[str],
    attention: Float[Tensor, "target source"],
    source: Sequence[str],
    *,
    unknown: str = "<unk>",
    dictionary: Mapping[str, str] | None = None,
) -> list[str]:
    """Replace each unknown word by the source word it attended to most, translated where `dictionary` has it.

    Jean et al. 2015, section 3.3; Luong et al. 2015 ("Addressing the rare word problem"). Rows of `attention` follow
    `words`, columns `source`; those beyond, such as EOS, are not considered.

    >>> import torch
    >>> replace_unknown(["in", "<unk>"], torch.tensor([[0.9, 0.1], [0.2, 0.8]]), ["en", "Islande"])
    ['in', 'Islande']
    """
    if not source:
        return list(words)
    most = attention[: len(words), : len(source)].argmax(-1).tolist()
    known = dictionary or {}
    return [
        known.get(source[place], source[place]) if word == unknown else word
        for word, place in zip(words, most, strict=True)
    ]
