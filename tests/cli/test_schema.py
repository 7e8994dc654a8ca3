"""`dragoman schema`."""

import json

from tests.tiny import dragoman


def test_the_schema_describes_every_section():
    schema = json.loads(dragoman("schema").output)
    assert set(schema["properties"]) == {"about", "seed", "data", "text", "model", "training", "decoding"}
    assert schema["additionalProperties"] is False
    described = schema["$defs"]["TrainingSettings"]["properties"]["save_minutes"]
    assert "crash" in described["description"]
