"""The bodies of LibreTranslate's requests and answers, for the OpenAPI page. Requests are read by hand, for exact errors."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """A body whose fields document themselves."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Translate(Body):
    """What `/translate` is asked."""

    q: str | list[str]
    """Text to translate, or several."""
    source: str
    """Code of the source language, or `auto`."""
    target: str
    """Code of the target language."""
    format: Literal["text", "html"] = "text"
    """Whether there are tags."""
    alternatives: int = Field(default=0, ge=0)
    """How many other translations to give."""
    api_key: str = ""
    """Key, if the service asks for keys."""


class Detected(Body):
    """A language that a text may be in."""

    confidence: float
    """From 0 to 100."""
    language: str


class Translation(Body):
    """What `/translate` answers; each field is a list if `q` was one."""

    translatedText: str | list[str]
    detectedLanguage: Detected | list[Detected] | None = None
    """Only if the source was `auto`."""
    alternatives: list[str] | list[list[str]] | None = None
    """Only if they were asked for."""


class Detect(Body):
    """What `/detect` is asked."""

    q: str | list[str]
    api_key: str = ""


class Language(Body):
    """A language, and those into which it is translated."""

    code: str
    name: str
    targets: list[str]


class TranslateFile(Body):
    """What `/translate_file` is asked."""

    file: bytes = Field(json_schema_extra={"format": "binary"})
    source: str
    target: str
    api_key: str = ""


class TranslatedFile(Body):
    """What `/translate_file` answers."""

    translatedFileUrl: str
    """Where to fetch the translated file."""


class Suggest(Body):
    """What `/suggest` is asked."""

    q: str
    s: str
    source: str
    target: str


class Named(Body):
    """A code with its name."""

    code: str
    name: str


class Languages(Body):
    """The languages that a page offers first."""

    source: Named
    target: Named


class FrontendSettings(Body):
    """What a page needs to know of a service."""

    charLimit: int
    frontendTimeout: int
    apiKeys: bool
    keyRequired: bool
    suggestions: bool
    filesTranslation: bool
    supportedFilesFormat: list[str]
    language: Languages


class Problem(Body):
    """Why a request was refused."""

    error: str
