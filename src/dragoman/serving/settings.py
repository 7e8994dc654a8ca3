"""Settings of a service: what it accepts, how long it waits, what it remembers."""

from typing import Literal

from pydantic import Field

from dragoman.settings import Settings


class EngineSettings(Settings):
    """How the requests of many callers share one model."""

    wait_ms: float = Field(default=5.0, ge=0, le=1000)
    """A batch starts when it is full, or when its oldest sentence has waited for so many milliseconds."""
    batch_tokens: int = Field(default=6000, ge=1)
    """A batch is full when its sentences times the beam times the longest source reach so many tokens."""
    queue_sentences: int = Field(default=2000, ge=1)
    """Maximum number of sentences that wait; calls beyond are refused, with the seconds after which to try again."""
    cache_mb: float = Field(default=64.0, ge=0)
    """Megabytes of translations that are kept in memory, those used last; 0 keeps none."""


class ServiceSettings(Settings):
    """What a service accepts and tells."""

    engine: EngineSettings = EngineSettings()
    max_body_mb: float = Field(default=10.0, gt=0)
    """Largest body of a request in megabytes."""
    max_texts: int = Field(default=1000, ge=1)
    """Maximum number of texts in a request."""
    max_characters: int = Field(default=100_000, ge=1)
    """Maximum number of characters in all texts of a request."""
    max_requests: int = Field(default=1000, ge=1)
    """Maximum number of requests at the same time; more are refused."""
    max_n_best: int = Field(default=10, ge=1)
    """Maximum number of translations of a text, and largest beam that a request may ask for."""
    timeout_s: float = Field(default=60.0, gt=0)
    """After so many seconds a translation that is not ready is cancelled."""
    drain_s: float = Field(default=20.0, ge=0)
    """How long requests in progress may take to end when the service is told to stop."""
    memory_mb: float | None = Field(default=None, gt=0)
    """Megabytes that weights may take together; the models used longest ago leave. None means half of the free memory."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may call the service (CORS), `*` for all; none unless given."""
    log_text: bool = False
    """Write the texts of requests into the log; otherwise only their sizes are."""
    log_format: Literal["json", "text"] = "json"
    """One JSON object per line, or lines for people."""
