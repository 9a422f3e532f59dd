"""The arena: models compared on the instructions on which they differ most, and rated by the votes."""
