"""Tags: tokens reserved in a vocabulary, put at the start of a source to tell the model where a pair is from.

They contain a sign that `normalize` leaves in no text, so that no text can be encoded into one.
"""

MARK = "▅"
"""Sign that the name of every tag starts with."""

SYNTHETIC = f"{MARK}synthetic"
"""The tag of sources that a model wrote: tagged back-translation (Caswell et al. 2019)."""


def is_tag(piece: str) -> bool:
    """Tell whether a token is a tag.

    >>> is_tag(SYNTHETIC), is_tag("<s>")
    (True, False)
    """
    return piece.startswith(MARK)
