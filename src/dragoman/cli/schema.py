"""`dragoman schema`."""

import json


def schema() -> None:
    """Print the JSON Schema of recipes, for editors.

    With it an editor completes and checks YAML."""
    from dragoman.runs.recipe import Recipe

    print(json.dumps(Recipe.model_json_schema(), indent=2))
