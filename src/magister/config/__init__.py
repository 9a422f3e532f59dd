"""The configuration models: one description per option, from which checks, defaults and docs/params.md come.

`params.yaml` is validated here and nowhere else; unknown keys are errors, so an option cannot go undocumented and a
typing mistake cannot go unnoticed. A module per section, imported by its name: a step then depends on the options of
its own section alone, and an option added elsewhere makes nothing run again.
"""
