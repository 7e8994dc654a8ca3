"""What a model can do is known from its settings, and is what the model does."""

import pytest
from tests.laws.architectures import ARCHITECTURES, FAMILIES

from dragoman.laws.examples import fresh_model
from dragoman.laws.of_models import SOURCE, TARGET
from dragoman.models.capabilities import Capabilities, capabilities_of


@pytest.mark.parametrize("name", [*FAMILIES, "document", "posterior", "luong, local-p"])
def test_layers_and_heads_of_attention_are_those_of_the_weights(name: str) -> None:
    can = capabilities_of(ARCHITECTURES[name])
    attention = fresh_model(ARCHITECTURES[name]).eval()(SOURCE, TARGET, need_weights=True).attention
    assert can.source_heads == (None if attention is None else tuple(attention.shape[1:3]))
    assert can.attends == (attention is not None)


def test_settings_of_a_plugin_that_say_nothing_translate_and_no_more() -> None:
    assert capabilities_of(object()) == Capabilities()
    assert Capabilities().translates and not Capabilities().attends
    assert not Capabilities(purpose="fill").translates
