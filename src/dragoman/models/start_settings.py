"""Settings of where a model's first weights come from, for every architecture."""

from pathlib import Path

from pydantic import model_validator

from dragoman.settings import Settings


class StartSettings(Settings):
    """Runs whose weights, and whose vocabularies, a model starts from; what no run gives is drawn at random."""

    encoder: Path | None = None
    """Folder of the run that gives the encoder, such as a masked language model."""
    decoder: Path | None = None
    """Folder of the run that gives the decoder, such as a decoder-only model; attention to the source stays fresh."""
    whole: Path | None = None
    """Folder of the run that gives the whole model, one of the same kind or of the kind that this one adds to."""

    @model_validator(mode="after")
    def _check(self) -> "StartSettings":
        if (self.whole is None) == (self.encoder is None and self.decoder is None):
            raise ValueError("`model.start_from` needs `whole`, or else `encoder`, `decoder` or both of these")
        return self

    @property
    def runs(self) -> dict[str, Path]:
        """The folder that gives each part; the part `whole` is everything."""
        given = {"encoder": self.encoder, "decoder": self.decoder, "whole": self.whole}
        return {part: folder for part, folder in given.items() if folder is not None}
