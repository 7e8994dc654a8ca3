"""`dragoman export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.cli.console import announced, note, print_path
from dragoman.cli.options import SearchSettings, decoding_options
from dragoman.errors import InputError


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a Transformer.")],
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="OUT",
            help="Output folder. [default: RUN/exports/ctranslate2-QUANTIZATION, RUN/exports/huggingface]",
        ),
    ] = None,
    to: Annotated[
        Literal["ctranslate2", "huggingface"],
        typer.Option("--to", help="ctranslate2: a faster inference engine; huggingface: a folder for `transformers`."),
    ] = "ctranslate2",
    quantization: Annotated[
        Literal["int8", "float32"] | None,
        typer.Option(
            help="ctranslate2: weight format; int8 is smaller and faster, float32 is exact.", show_default="int8"
        ),
    ] = None,
    settings: SearchSettings = None,
    license: Annotated[
        str | None, typer.Option(help="huggingface: licence for the model card, such as apache-2.0.")
    ] = None,
) -> None:
    """Write a run's model for another engine or library.

    `dragoman translate` accepts a folder for CTranslate2 like a run; `transformers` loads one for Hugging Face.

    Before anything is written, both engines translate sentences of the dev corpus. In float32 they must agree up to rounding; for
    int8 the command reports how many translations stay the same, and refuses if log-probabilities differ too much.
    """
    if to == "huggingface":
        if quantization is not None:
            raise InputError(
                "`--quantization` works only with `--to ctranslate2`; remove it: `transformers` gets float32"
            )
        if settings:
            raise InputError("`--set` works only with `--to ctranslate2`; remove it")
        _to_huggingface(run, out, license)
        return
    if license is not None:
        raise InputError("`--license` works only with `--to huggingface`, whose folder has a model card; remove it")
    with announced(f"Exporting {run}, and comparing both engines on the dev corpus"):
        from dragoman.conversion.job import export as export_run

        decoding = decoding_options(settings, beam=None)
        folder, agreement = export_run(run, out, quantization=quantization or "int8", decoding=decoding)
    note(
        f"{agreement.equal_greedy:.0%} of {agreement.sentences} sentences get the same translation with greedy search "
        f"({agreement.equal_beam:.0%} with beam search); log-probabilities differ by {agreement.mean_difference:.2g} per token "
        "on average."
    )
    print_path(folder)


def _to_huggingface(run: Path, out: Path | None, licence: str | None) -> None:
    """Write a folder for `transformers`."""
    with announced(f"Exporting {run} for Hugging Face, and comparing both on the dev corpus"):
        from dragoman.pretrained.huggingface import export as export_run

        folder, _ = export_run(run, out, licence=licence, say=note)
    print_path(folder)
