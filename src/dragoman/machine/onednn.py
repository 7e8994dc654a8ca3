"""Bound what oneDNN keeps, which must happen before its first matrix product."""

from collections.abc import MutableMapping

SHAPES = 64
"""Shapes whose products are kept, of 1,024 by default: more than the layers of one batch share."""
CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"), ("LRU_CACHE_CAPACITY",)
"""Names of the size of each cache, that of oneDNN and that by which torch calls it; the first counts where several are set."""


def bound_caches(environment: MutableMapping[str, str]) -> None:
    """Set the sizes of the caches of matrix products in bfloat16, unless the environment does.

    oneDNN compiles a product anew for each shape, and both it and torch keep the last 1,024. In a training shapes hardly ever
    come again after the batch, so keeping them saves no time, but takes up to a megabyte each: the longer a training, the
    more memory. Where the process has computed such a product before, nothing changes.
    """
    for names in CACHES:
        if not any(name in environment for name in names):
            environment[names[0]] = str(SHAPES)
