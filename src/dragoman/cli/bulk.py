"""`dragoman bulk`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced, note, print_path, watching_translation
from dragoman.cli.files import check_languages
from dragoman.cli.loading import choose_languages, note_searches
from dragoman.cli.options import Beam, Device, Languages, Ray, SearchSettings, decoding_options
from dragoman.errors import number_of


def bulk(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="A run, or several runs that translate as an ensemble.")
    ],
    languages: Languages,
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="Text to translate, one sentence per line.")],
    out: Annotated[Path, typer.Option(help="File of the translations, one per line.")],
    beam: Beam = None,
    settings: SearchSettings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a job that was stopped.")] = False,
    device: Device = "auto",
    ray: Ray = None,
) -> None:
    """Translate a large file.

    Line n of the output is the translation of line n. Finished lines are kept in a folder beside the output until all
    are done: Ctrl-C keeps them, and --resume continues.
    """
    from dragoman.inference.checks import refuse_alternatives

    options = decoding_options(settings, beam=beam)
    refuse_alternatives(options, "bulk")
    with announced(f"Loading {', '.join(map(str, runs))}"):
        from dragoman.inference.translator import Translator
        from dragoman.jobs.bulk import translate_file
        from dragoman.scaling.bulk import share_on_ray
        from dragoman.scaling.cluster import Workers, check_installed

        workers = None if ray is None else Workers.parse(ray)
        if workers is not None:
            check_installed()
        translator = Translator.load(*runs, device=device, **options)
    note_searches(translator, options)
    to = choose_languages(translator, languages)
    check_languages(to, source, known=translator.directions.languages)
    shared = None if workers is None else share_on_ray(translator, runs, source, workers=workers, device=device, to=to)
    with watching_translation() as report:
        lines = translate_file(translator, runs, source, out=out, to=to, resume=resume, report=report, rest=shared)
    note(f"{number_of(lines, 'line')} translated.")
    print_path(out)
