"""`dragoman schema`."""

import json


def schema() -> None:
    """Print the JSON Schema of recipes, for editors.

    With it an editor completes and checks YAML."""
    from dragoman.runs import recipe

    print(json.dumps(recipe.schema(), indent=2))
