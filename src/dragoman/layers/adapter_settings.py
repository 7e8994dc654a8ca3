"""Settings of low-rank adapters, for every architecture."""

from pydantic import Field

from dragoman.settings import Settings


class AdapterSettings(Settings):
    """Low-rank adapters (Hu et al. 2021): train a small correction of a run's matrices instead of its weights."""

    rank: int = Field(8, ge=1)
    """Rank r of each correction."""
    where: tuple[str, ...] = ()
    """Which matrices, by words in the names of their weights, such as decoder, query, key_value, inner or weight_hh_l0; by
    default all but embeddings and the output layer."""
    alpha: float | None = Field(None, gt=0)
    """The correction is multiplied by alpha / rank; by default alpha is the rank."""
