"""The bodies of DeepL's requests and answers, for the OpenAPI page. Requests are read by hand, for exact errors."""

from typing import Literal

from pydantic import Field

from dragoman.serving.libretranslate_shapes import Body


class Translate(Body):
    """What `/v2/translate` is asked."""

    text: list[str]
    """Texts to translate."""
    target_lang: str
    source_lang: str | None = None
    """Detected if it is not given."""
    context: str = ""
    """Text before these, for models of documents; not translated."""
    show_billed_characters: bool = True
    """On unless it is turned off, so that no client misses the number."""
    split_sentences: Literal["0", "1", "nonewlines"] = "1"
    preserve_formatting: bool = False
    """Begin and end a translation like its source."""
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"
    """No run knows formality, so nothing else is accepted."""
    model_type: Literal["quality_optimized", "latency_optimized", "prefer_quality_optimized"] | None = None
    glossary_id: str | None = None
    glossary_ids: list[str] = Field(default=[], max_length=5)
    tag_handling: Literal["xml", "html"] | None = None
    tag_handling_version: Literal["v1", "v2"] | None = None
    outline_detection: bool = True
    non_splitting_tags: list[str] = Field(default=[])
    splitting_tags: list[str] = Field(default=[])
    ignore_tags: list[str] = Field(default=[])


class TranslateForm(Translate):
    """The same as a form, where lists of tags are words with commas between them."""

    text: list[str]
    non_splitting_tags: str = ""  # type: ignore[assignment]
    splitting_tags: str = ""  # type: ignore[assignment]
    ignore_tags: str = ""  # type: ignore[assignment]


class Translation(Body):
    """One translation."""

    detected_source_language: str
    text: str
    billed_characters: int | None = None
    """There unless `show_billed_characters` is off."""
    model_type_used: str | None = None
    tag_handling_version: str | None = None


class Translations(Body):
    """The translations, in the order of the texts."""

    translations: list[Translation]


class Language(Body):
    """A language."""

    language: str
    name: str
    supports_formality: bool | None = None
    """Only of target languages."""


class Usage(Body):
    """What a key has used this month."""

    character_count: int
    character_limit: int


class CreateGlossary(Body):
    """What a glossary is made of."""

    name: str
    source_lang: str
    target_lang: str
    entries: str
    """One entry on each line."""
    entries_format: Literal["tsv", "csv"] = "tsv"


class Glossary(Body):
    """A glossary without its entries."""

    glossary_id: str
    name: str
    ready: bool
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class Glossaries(Body):
    """All glossaries of a key."""

    glossaries: list[Glossary]


class Pair(Body):
    """A language pair."""

    source_lang: str
    target_lang: str


class Pairs(Body):
    """Language pairs of which there may be glossaries."""

    supported_languages: list[Pair]


class Upload(Body):
    """A document to translate."""

    file: bytes = Field(json_schema_extra={"format": "binary"})
    target_lang: str
    source_lang: str = ""
    filename: str = ""
    output_format: str = ""
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"
    """As in `/v2/translate`."""
    glossary_id: str = ""


class Handle(Body):
    """What a document is asked for with."""

    document_id: str
    document_key: str


class DocumentKey(Body):
    """The secret half of a handle."""

    document_key: str


class Status(Body):
    """How far a document has come."""

    document_id: str
    status: Literal["queued", "translating", "done", "error"]
    seconds_remaining: int | None = None
    billed_characters: int | None = None
    error_message: str | None = None


class Problem(Body):
    """Why a request was refused."""

    message: str
    detail: str | None = None
