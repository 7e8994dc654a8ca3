"""The model card of an export: the `README.md` of a model, as Hugging Face's hub shows it."""

from pathlib import Path
from typing import Any

import yaml

from dragoman.json_files import load_json
from dragoman.pretrained.huggingface_weights import Layout, left_out
from dragoman.pretrained.proof import Proof
from dragoman.pretrained.tokenizer_json import is_unigram
from dragoman.runs.folder import Run
from dragoman.text.tags import tag_piece

SCORES = "test.json"
"""The file of a run with its scores on the test corpora, written after training."""
USE = """```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer, model = AutoTokenizer.from_pretrained("FOLDER"), AutoModelForSeq2SeqLM.from_pretrained("FOLDER")
inputs = tokenizer([{sentence}], return_tensors="pt", padding=True)
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
```"""
TWO_FORMS = {"marian": ("post-norm", "Marian"), "pegasus": ("pre-norm", "Pegasus")}


def model_card(run: Run, layout: Layout, licence: str | None, *, proof: Proof | None) -> str:
    """Return the text of the card. `licence` is the user's, `proof` that the export is the run, if it was verified."""
    directions = run.directions
    title = str(directions) if directions.tagged else "{} to {}".format(*directions.trained[0])
    sections = [
        _front_matter(run, licence),
        f"# Translation, {title}",
        _about(run, layout, proof),
        f"## Use\n\n{_use(run)}",
        f"## What differs from Dragoman\n\n{_differences(run, layout)}",
        f"## Scores\n\n{_scores(run.folder)}",
        f"## Training data\n\n{_data(run)}",
        f"## Licence\n\n{licence or 'No licence was given: ask whoever made this model before you use it.'}",
    ]
    return "\n\n".join(sections) + "\n"


def _front_matter(run: Run, licence: str | None) -> str:
    """Return what the hub reads: YAML between lines of hyphens."""
    table: dict[str, Any] = {} if licence is None else {"license": licence}
    table |= {
        "language": list(run.directions.languages),
        "library_name": "transformers",
        "pipeline_tag": "translation",
        "tags": ["translation", "dragoman"],
    }
    return f"---\n{yaml.safe_dump(table, allow_unicode=True, sort_keys=False)}---"


def _about(run: Run, layout: Layout, proof: Proof | None) -> str:
    """Say what the model is, and whether it was verified."""
    norm, name = TWO_FORMS[layout.form]
    settings: Any = run.recipe.model
    size = f"{settings.encoder_layers}+{settings.decoder_layers} layers of width {settings.width}"
    version = run.manifest.get("dragoman", "unknown")
    about = (
        f"A {norm} Transformer of {size}, trained with Dragoman {version} and exported with `dragoman export --to huggingface` "
        f"in the form of {name}."
    )
    if proof is None:
        return f"{about} Not verified: `transformers` was not installed where it was exported."
    return f"{about} Verified with {proof.reader}: {proof}."


def _use(run: Run) -> str:
    """Show how to translate a sentence."""
    if not run.directions.tagged:
        return USE.format(sentence='"A sentence."')
    quoted = f'"{tag_piece(run.directions.targets[0])} A sentence."'
    known = ", ".join(f"`{tag_piece(language)}`" for language in run.directions.targets)
    return (
        f"{USE.format(sentence=quoted)}\n\n"
        f"A source begins with the tag of the language to translate into: {known}. A tag anywhere else in a text is read as a "
        "tag, too."
    )


def _differences(run: Run, layout: Layout) -> str:
    """Say what is not as in Dragoman."""
    settings = run.recipe.decoding
    found = [
        "`skip_special_tokens=True` leaves `<unk>` out, which Dragoman writes. Text with lone surrogates is refused.",
        "A translation has at most as many tokens as `generation_config.json` says, whatever the length of its source, and "
        "source and translation at most 1,024 each.",
    ]
    if settings.method == "beam" and settings.length_normalisation == "wu":
        found.append(
            "Beams are normalised by `length ** length_penalty`, since `transformers` does not have that of Wu et al. 2016; "
            "greedy search (`num_beams=1`) is the same."
        )
    if missing := left_out(settings):
        found.append(missing)
    if layout.offset:
        found.append(
            f"Source and target have rows of their own: target tokens begin at {layout.offset}, and their names with `￭`. The "
            "tokenizer turns text into source tokens and any tokens into text, so it cannot make labels for training."
        )
    if is_unigram(run.source):
        found.append(
            "Where two segmentations are equally probable up to rounding, as of a row of equal signs, the other may be chosen."
        )
    found.append(_ctranslate2(layout))
    return "\n".join(f"- {one}" for one in found)


def _ctranslate2(layout: Layout) -> str:
    """Warn of the conversion by CTranslate2."""
    start = "a vector of zeros" if layout.form == "marian" else "the padding token"
    return (
        f"Do not convert this folder with CTranslate2's own converter: it begins translations with {start}, which this model "
        "does not, so the result translates otherwise, if it can be made at all. `dragoman export RUN --to ctranslate2` makes a "
        "verified one."
    )


def _scores(folder: Path) -> str:
    """Return a table of the run's scores on its test corpora, with their signatures."""
    try:
        table = load_json(folder / SCORES)
        rows = [
            f"| {_name(corpus)} | {name} | {found['score']:.2f} | `{_in_cell(found['signature'])}` |"
            for corpus, scores in table.items()
            for name, found in scores.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        rows = []
    if not rows:
        return "The run has none; `dragoman evaluate` measures BLEU and chrF."
    return "\n".join(["| corpus | metric | score | sacreBLEU signature |", "| --- | --- | --- | --- |", *rows])


def _in_cell(text: str) -> str:
    """Return text that does not end its cell of a table."""
    return text.replace("|", r"\|")


def _data(run: Run) -> str:
    """Return a table of the corpora with their checksums."""
    files = run.manifest.get("data", {})
    if not files:
        return "Not recorded."
    rows = [f"| {_name(path)} | `{checksum}` |" for path, checksum in files.items()]
    return "\n".join(["| file | SHA-256 |", "| --- | --- |", *rows])


def _name(path: str) -> str:
    """Return the folder and the name of a corpus, not where it is on this computer.

    >>> _name("/home/me/data/multi30k/train.en.gz"), _name("phrasebook test")
    ('multi30k/train.en.gz', 'phrasebook test')
    """
    return "/".join(Path(path).parts[-2:])
