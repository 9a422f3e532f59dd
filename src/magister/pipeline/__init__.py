"""What the Snakefile needs beyond its rules."""

from magister.pipeline._folder import join_folder

__all__ = ["join_folder"]
