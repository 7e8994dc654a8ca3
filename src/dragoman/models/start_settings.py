"""Settings of where a model's initial weights come from, for every architecture."""

from pathlib import Path

from pydantic import model_validator

from dragoman.settings import Settings


class StartSettings(Settings):
    """Runs whose weights and vocabularies a model is initialised from; all other weights are random."""

    encoder: Path | None = None
    """Run folder that provides the encoder, such as a masked language model."""
    decoder: Path | None = None
    """Run folder that provides the decoder, such as a decoder-only model; attention to the source is initialised randomly."""
    whole: Path | None = None
    """Run folder that provides the whole model; of the same kind, or of the kind that this one extends."""

    @model_validator(mode="after")
    def _check(self) -> "StartSettings":
        if (self.whole is None) == (self.encoder is None and self.decoder is None):
            raise ValueError("`model.start_from` needs `whole`, or else `encoder`, `decoder` or both of these")
        return self

    @property
    def runs(self) -> dict[str, Path]:
        """Return the folder that provides each part; the part `whole` is the whole model."""
        given = {"encoder": self.encoder, "decoder": self.decoder, "whole": self.whole}
        return {part: folder for part, folder in given.items() if folder is not None}
