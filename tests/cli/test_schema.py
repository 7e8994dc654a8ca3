"""`dragoman schema`."""

import json

from tests.tiny import dragoman


def test_the_schema_describes_every_section():
    schema = json.loads(dragoman("schema").output)
    assert set(schema["properties"]) == {"about", "seed", "data", "text", "model", "training", "decoding"}
    assert schema["additionalProperties"] is False
    described = schema["$defs"]["TrainingSettings"]["properties"]["save_minutes"]
    assert "crash" in described["description"]


def test_the_schema_allows_auto_where_a_recipe_may_have_it():
    schema = json.loads(dragoman("schema").output)
    assert {"const": "auto"} in schema["properties"]["model"]["anyOf"]
    for kind, name in (("TransformerSettings", "width"), ("RecurrentSettings", "dropout"), ("WordsSettings", "size")):
        field = schema["$defs"][kind]["properties"][name]
        assert field["anyOf"][0] == {"const": "auto"} and field["description"]
    assert "auto" not in json.dumps(schema["$defs"]["RecurrentSettings"]["properties"]["hidden"])
