"""The page of assessed translations: how confident a run is of each sentence and each word, and what looks wrong.

Words are shaded and underlined, so that they differ without colour too. Without `confidence.js` all sentences are shown, in the
order of the text.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

from dragoman.inspection.page import direction, document, section
from dragoman.iso639 import language_tag

TITLE = "Translations and their confidence"
LEVELS: Mapping[str, float] = {"likely": 0.75, "fair": 0.5, "doubtful": 0.25, "unlikely": 0.0}
"""How sure a word is, with the lowest confidence of each level."""
EXPLAINED = {
    "repetition": "The translation repeats itself more than its source does.",
    "too short": "The translation is unusually short for its source.",
    "too long": "The translation is unusually long for its source.",
    "copied": "Most of the translation is copied from the source.",
    "number lost": "A number of the source is not in the translation.",
    "name lost": "A name of the source has nothing similar in the translation.",
    "omission": "Nothing in the translation stands for some words of the source.",
    "detached": "Hardly any word of the translation follows from the source.",
}
"""Alarms in plain words."""
BINS = 10
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 420, 180, 8, 22, 36
"""Size of the histogram, and the margins around its bars."""


@dataclass(frozen=True)
class ShownAlarm:
    """An alarm: its name, and the words of the source that are lost, with their numbers among all, from 0."""

    name: str
    words: Sequence[str] = ()
    places: Sequence[int] = ()


@dataclass(frozen=True)
class AssessedSentence:
    """A sentence as words, its translation as words, and how far that can be trusted, from 0 to 1."""

    source: Sequence[str]
    translation: Sequence[str]
    confidence: float | None = None
    """None for an empty source."""
    words: Sequence[float] = ()
    """The confidence of each word of the translation; empty if it is not known."""
    alarms: Sequence[ShownAlarm] = ()
    replaced: str | None = None
    """The translation that a rescue replaced by this one."""


@dataclass(frozen=True)
class ConfidencePage:
    """Everything on the page."""

    run: str
    languages: tuple[str, str]
    sentences: Sequence[AssessedSentence]
    """In the order of the text."""
    good: str
    """What a confidence is the probability of."""
    error: float
    """The expected calibration error."""
    false_alarms: Mapping[str, float] = field(default_factory=dict)
    """Share of good translations that raise each alarm."""


def confidence_page(page: ConfidencePage) -> str:
    """Return the page as HTML."""
    folder = files("dragoman.inspection")
    style, script = ((folder / f"confidence.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    sections = [
        f'<div class="overall">\n{_histogram_section(page)}\n{_alarm_section(page)}\n</div>',
        _sentences(page),
    ]
    return document(
        TITLE,
        "\n".join(
            [
                f"<style>\n{style}</style>",
                _header(page),
                *sections,
                "<footer>Made by Dragoman.</footer>",
                f"<script>\n{script}</script>",
            ]
        ),
    )


def percent(share: float) -> str:
    """Write a probability; only what is certain is 0% or 100%.

    >>> [percent(share) for share in (0.0, 0.001, 0.614, 0.999, 1.0)]
    ['0%', '<1%', '61%', '>99%', '100%']
    """
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def level(confidence: float) -> str:
    """Return how sure a word is.

    >>> level(0.75), level(0.3)
    ('likely', 'doubtful')
    """
    return next(name for name, least in LEVELS.items() if confidence >= least)


def _header(page: ConfidencePage) -> str:
    """Return title, meaning and facts."""
    known = [one.confidence for one in page.sentences if one.confidence is not None]
    facts = {
        "Sentences": f"{len(page.sentences):,}",
        "Mean confidence": percent(sum(known) / len(known)) if known else "–",
        "Below 50%": f"{sum(one < 0.5 for one in known):,}",
        "With an alarm": f"{sum(bool(one.alarms) for one in page.sentences):,}",
        "Calibration error": f"{page.error:.3f}",
    }
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in facts.items())
    lead = (
        f"{page.run} translated from {page.languages[0]} to {page.languages[1]}. Confidence 80% means that of 100 such "
        f"translations about 80 are good; good means here: {page.good}."
    )
    return f'<header>\n<h1>{TITLE}</h1>\n<p class="lead">{escape(lead)}</p>\n<dl class="facts">{items}</dl>\n</header>'


def _histogram_section(page: ConfidencePage) -> str:
    """Return how many translations have which confidence."""
    known = [one.confidence for one in page.sentences if one.confidence is not None]
    counts = Counter(min(int(one * BINS), BINS - 1) for one in known)
    return section("Confidence of the sentences", "", _histogram([counts[number] for number in range(BINS)]))


def _histogram(counts: Sequence[int]) -> str:
    """Draw a bar for each tenth of confidence."""
    step, high = (WIDTH - 2 * LEFT) / BINS, max(*counts, 1)
    floor = HEIGHT - BOTTOM
    parts = [f'<path d="M{LEFT} {floor}H{WIDTH - LEFT}" stroke="currentColor" stroke-opacity="0.4"/>']
    for number, count in enumerate(counts):
        tall, x = (floor - TOP) * count / high, LEFT + number * step
        kind = "low" if number < BINS // 2 else "high"
        parts.append(
            f'<rect class="{kind}" x="{x + 2:.1f}" y="{floor - tall:.1f}" width="{step - 4:.1f}" height="{tall:.1f}" rx="2"/>'
        )
        if count:
            parts.append(
                f'<text x="{x + step / 2:.1f}" y="{floor - tall - 5:.1f}" text-anchor="middle">{count:,}</text>'
            )
    parts += [
        f'<text x="{LEFT + number * step:.1f}" y="{floor + 15}" text-anchor="{anchor}">{number * 100 // BINS}%</text>'
        for number, anchor in ((0, "start"), (BINS // 2, "middle"), (BINS, "end"))
    ]
    parts.append(f'<text x="{LEFT + step * BINS / 4:.1f}" y="{floor + 31}" text-anchor="middle">more likely bad</text>')
    parts.append(
        f'<text x="{LEFT + step * BINS * 3 / 4:.1f}" y="{floor + 31}" text-anchor="middle">more likely good</text>'
    )
    spoken = ", ".join(
        f"{count:,} of {number * 10} to {number * 10 + 10}%" for number, count in enumerate(counts) if count
    )
    return (
        f'<svg class="histogram" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' fill="currentColor" font-family="inherit" font-size="11" aria-label="Sentences by confidence: {spoken or "none"}">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _alarm_section(page: ConfidencePage) -> str:
    """Return how many translations raised which alarm, and how many good ones do."""
    counts = _alarm_counts(page)
    if not counts:
        return section("Alarms", "", '<p class="hint">None was raised.</p>')
    rows = "\n".join(
        f'<tr><th scope="row">{escape(_named(name))} <small>{escape(EXPLAINED.get(name, ""))}</small></th>'
        f'<td class="number">{count:,}</td><td class="number expected">{_expected(page, name)}</td></tr>'
        for name, count in counts.items()
    )
    heads = (
        '<th scope="col">Alarm</th><th scope="col" class="number">Sentences</th>'
        '<th scope="col" class="number">False alarms</th>'
    )
    table = f'<table class="list"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table>'
    return section("Alarms", "False alarms are the share of good translations that raise it.", table)


def _alarm_counts(page: ConfidencePage) -> dict[str, int]:
    """Return the number of sentences with each alarm that was raised, in the order in which alarms are explained."""
    found = Counter(name for one in page.sentences for name in {alarm.name for alarm in one.alarms})
    return {name: found[name] for name in (*EXPLAINED, *sorted(found.keys() - EXPLAINED.keys())) if found[name]}


def _expected(page: ConfidencePage, name: str) -> str:
    """Return the share of good translations that raise an alarm, if it is known."""
    return f"{page.false_alarms[name]:.1%}" if name in page.false_alarms else "–"


def _named(name: str) -> str:
    """Return the name of an alarm as the start of a sentence.

    >>> _named("number lost")
    'Number lost'
    """
    return name[:1].upper() + name[1:]


def _sentences(page: ConfidencePage) -> str:
    """Return all sentences, with a legend before them and what the script needs to choose among them."""
    rows = "\n".join(_row(number, one, page.languages) for number, one in enumerate(page.sentences, 1))
    counts = _alarm_counts(page)
    shown = {"": f"all ({len(page.sentences):,})"}
    if counts:
        some = sum(bool(one.alarms) for one in page.sentences)
        shown |= {"*": f"with an alarm ({some:,})"} | {name: f"{name} ({count:,})" for name, count in counts.items()}
    controls = (
        f"{_select('Order', {'text': 'as in the text', 'least': 'least certain first'})}\n{_select('Show', shown)}\n"
        '<label><input type="checkbox" autocomplete="off"> Numbers</label>'
    )
    return (
        f'<section class="assessed">\n<h2>Sentences</h2>\n{_legend(page)}\n<div class="controls" hidden>\n{controls}\n</div>\n'
        f"<ol>\n{rows}\n</ol>\n</section>"
    )


def _select(name: str, options: Mapping[str, str]) -> str:
    """Return a labelled list of values with their texts."""
    items = "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in options.items())
    return f'<label>{name} <select name="{name.lower()}" autocomplete="off">{items}</select></label>'


def _legend(page: ConfidencePage) -> str:
    """Explain the marks of words."""
    if not any(one.words for one in page.sentences):
        words = "<span>Words have no confidence: the run was calibrated on judgements of whole sentences.</span>"
    else:
        tops = [1.0, *LEVELS.values()]
        words = "<span>Words of the translation:</span> " + " ".join(
            f'<span><span class="{name}">{name}</span> {f"below {top:.0%}" if top < 1 else f"{least:.0%} and more"}</span>'
            for (name, least), top in zip(LEVELS.items(), tops, strict=False)
        )
    return f'<p class="legend">{words} <span>Words of the source: <mark>lost</mark> in the translation</span></p>'


def _row(number: int, one: AssessedSentence, languages: tuple[str, str]) -> str:
    """Return one sentence."""
    certain = "" if one.confidence is None else f' data-confidence="{one.confidence:.4f}"'
    names = escape("|".join(alarm.name for alarm in one.alarms))
    return (
        f'<li id="sentence-{number}"{certain} data-alarms="{names}">\n<a class="number" href="#sentence-{number}">{number}</a>\n'
        f'{_bar(one.confidence)}\n<div>\n<p class="source">{_source(one, languages[0])}</p>\n'
        f'<p class="translation">{_translation(one, languages[1])}</p>\n{"".join(_remarks(one))}</div>\n</li>'
    )


def _bar(confidence: float | None) -> str:
    """Return the confidence of a sentence, as a bar and as a number."""
    if confidence is None:
        return '<p class="sure"></p>'
    kind = "bar low" if confidence < 0.5 else "bar"
    return f'<p class="sure"><span class="{kind}" style="--w:{confidence:.3f}"></span> <span>{percent(confidence)}</span></p>'


def _source(one: AssessedSentence, language: str) -> str:
    """Return the words of the source, those that are lost marked."""
    if not one.source:
        return '<span class="nothing">empty line</span>'
    lost: dict[int, list[str]] = {}
    for alarm in one.alarms:
        for place in alarm.places:
            lost.setdefault(place, []).append(alarm.name)
    words = (
        f'<mark title="{escape(", ".join(lost[place]))}">{escape(word)}</mark>' if place in lost else escape(word)
        for place, word in enumerate(one.source)
    )
    return f'<bdi lang="{escape(language_tag(language))}" dir="{direction(one.source)}">{" ".join(words)}</bdi>'


def _translation(one: AssessedSentence, language: str) -> str:
    """Return the words of the translation, each with its confidence if that is known."""
    if not one.translation:
        return '<span class="nothing">no translation</span>' if one.source else ""
    if len(one.words) != len(one.translation):
        words = " ".join(map(escape, one.translation))
    else:
        words = " ".join(
            f'<span class="{level(sure)}" title="{percent(sure)}">{escape(word)}</span>'
            for word, sure in zip(one.translation, one.words, strict=True)
        )
    return f'<bdi lang="{escape(language_tag(language))}" dir="{direction(one.translation)}">{words}</bdi>'


def _remarks(one: AssessedSentence) -> Iterator[str]:
    """Yield the alarms of a sentence in plain words, and what a rescue replaced."""
    for alarm in one.alarms:
        words = f": <bdi>{escape(' '.join(alarm.words))}</bdi>" if alarm.words else ""
        meaning = escape(EXPLAINED.get(alarm.name, ""))
        yield f'<p class="alarm"><strong>{escape(_named(alarm.name))}{words}.</strong> {meaning}</p>\n'
    if one.replaced is not None:
        yield f'<p class="replaced">Before the rescue: <bdi>{escape(one.replaced) or "no translation"}</bdi></p>\n'
