"""`dragoman tune`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced, note
from dragoman.cli.files import check_languages, read_aligned
from dragoman.cli.options import Beam, Device, Ensemble, Run, SearchSettings, decoding_options
from dragoman.errors import number_of, shell_path


def tune(
    run: Run,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Source sentences of a dev set, one per line.")],
    references: Annotated[
        list[Path], typer.Argument(metavar="REFERENCE", help="One or more files of reference translations.")
    ],
    rerank: Annotated[
        list[Path],
        typer.Option(
            "--rerank", metavar="RUN", help="A run that reranks, as in `dragoman translate`; may be repeated."
        ),
    ],
    ensemble: Ensemble = None,
    beam: Beam = None,
    settings: SearchSettings = None,
    device: Device = "auto",
) -> None:
    """Tune the weights of reranking runs on a dev set.

    The dev set is translated once; the weights with the highest BLEU are printed as a setting for `--set`, if they are better
    than none. Do not tune on the sentences that you measure with afterwards.
    """
    from dragoman.inference.checks import refuse_alternatives

    options = decoding_options(settings, beam=beam)
    refuse_alternatives(options, "tune")
    sources, *sets = read_aligned(source, *references)
    ensembled = [run, *(ensemble or [])]
    with announced(f"Translating {number_of(len(sources), 'sentence')}"):
        from dragoman.jobs.tune import tune
        from dragoman.runs.folder import open_run

        check_languages(open_run(run).languages, source, *references)
        found = tune(ensembled, rerank, sources, references=sets, decoding=options, device=device)
    search = [] if beam is None else [f"--beam {beam}"]
    search += [f"--set {shell_path(one)}" for one in settings or []]
    runs = " ".join([*map(shell_path, ensembled), *(f"--rerank {shell_path(other)}" for other in rerank), *search])
    setting = f"rerank_weights=[{', '.join(f'{weight:g}' for weight in found.weights)}]"
    note(f"BLEU {found.before:.2f} without reranking, {found.bleu:.2f} with it.")
    if not any(found.weights):
        gain = " The gain comes from length normalisation alone." if found.bleu > found.before else ""
        note(f"The best weights are 0, so these runs do not help to choose: translate without --rerank.{gain}")
    elif found.bleu > found.before:
        note(f"Use it with: dragoman translate {runs} --set '{setting}'")
        print(setting)
    else:
        note("No weights that were tried are better than none: translate without --rerank.")
