"""Source words in place of the unknown words of a translation."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from dragoman.text.unknown import offset_of


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


def replace_positional(
    words: Sequence[str],
    source: Sequence[str],
    *,
    unknown: str = "<unk>",
    dictionary: Mapping[str, str] | None = None,
) -> list[str]:
    """Replace each unknown word that says which source word it comes from by that word, translated where `dictionary` has it.

    The PosUnk model of Luong et al. 2015 ("Addressing the rare word problem"), section 3.3. One that points beyond the
    source becomes `unknown`.

    >>> replace_positional(["in", "<unk+0>"], ["en", "Islande"], dictionary={"Islande": "Iceland"})
    ['in', 'Iceland']
    """
    known = dictionary or {}
    replaced = []
    for place, word in enumerate(words):
        offset = offset_of(word)
        if offset is not None:
            origin = place - offset
            word = known.get(source[origin], source[origin]) if 0 <= origin < len(source) else unknown
        replaced.append(word)
    return replaced
