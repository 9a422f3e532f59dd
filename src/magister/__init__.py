"""Magister rates language models and keeps every number traceable to the transcripts behind it."""

from importlib.metadata import version

__version__ = version("magister")
