"""`dragoman evaluate`."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import announced
from dragoman.cli.files import check_apart, check_languages, previous_sentences, read_aligned, write_lines
from dragoman.cli.loading import choose_languages, load_translator
from dragoman.cli.options import Device, Documents, Ensemble, JsonObject, Languages, Run, Search
from dragoman.cli.quality import all_scores, print_scores, score_tables
from dragoman.errors import InputError, number_of


def evaluate(
    run: Run,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Source sentences, one per line.")],
    references: Annotated[
        list[Path], typer.Argument(metavar="REFERENCE", help="One or more files of reference translations.")
    ],
    languages: Languages,
    search: Search,
    ensemble: Ensemble = None,
    documents: Documents = None,
    output: Annotated[Path | None, typer.Option(help="Also write the translations to this file.")] = None,
    as_json: JsonObject = False,
    device: Device = "auto",
) -> None:
    """Translate a test set and print BLEU, chrF and TER."""
    from dragoman.inference.checks import refuse_alternatives
    from dragoman.inference.translation import TermCounts

    options = search.options()
    refuse_alternatives(options, "evaluate")
    if output is not None:
        check_apart(
            output, [source, *references, *([] if documents is None else [documents]), *(search.glossary or [])]
        )
    translator = load_translator(run, *(ensemble or []), device=device, **options)
    direction = choose_languages(translator, languages)
    check_languages(direction, source, *references, known=translator.directions.languages)
    sources, *sets = read_aligned(source, *references)
    if not any(map(str.strip, sources)):
        raise InputError(f"{source} contains only blank lines, so there is nothing to translate; give a test set")
    previous = previous_sentences(translator, source, documents)
    begin = time.monotonic()
    with announced(f"Translating {number_of(len(sources), 'sentence')}"):
        translations = translator.translate(sources, previous=previous, to=direction)
    hypotheses = [translation.text for translation in translations]
    seconds = time.monotonic() - begin
    if output is not None:
        write_lines(output, hypotheses)
    scores = all_scores(hypotheses, sets)
    terms = TermCounts.of(translations) if translator.settings.requires_terms else None
    if as_json:
        table = {**score_tables(scores), "sentences": len(sources), "seconds": round(seconds, 3)}
        print(json.dumps(table | ({"terms": asdict(terms)} if terms else {})))
        return
    print_scores(scores)
    if terms is not None:
        print(terms)
    print(
        f"{number_of(len(sources), 'sentence')} in {seconds:.1f} s, {len(sources) / max(seconds, 1e-9):.1f} per second"
    )
