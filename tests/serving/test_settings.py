"""Settings of a service have limits by default."""

import pytest

from dragoman.errors import SettingsError
from dragoman.serving.settings import ServiceSettings
from dragoman.settings import override, parse


def test_everything_has_a_limit_and_no_page_elsewhere_may_call() -> None:
    settings = ServiceSettings()
    assert settings.max_body_mb and settings.max_texts and settings.max_characters and settings.timeout_s
    assert settings.origins == () and not settings.log_text


def test_a_setting_is_changed_by_name() -> None:
    table = override({}, ["engine.wait_ms=1", "origins=[https://example.org]"])
    chosen = parse(ServiceSettings, table, "the settings of the service")
    assert chosen.engine.wait_ms == 1 and chosen.origins == ("https://example.org",)
    with pytest.raises(SettingsError, match="max_texts"):
        parse(ServiceSettings, {"max_text": 1}, "the settings of the service")
