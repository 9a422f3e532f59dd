"""What the Snakefile needs beyond its rules."""

from magister.pipeline._folder import Membership, check_folders, join_folder
from magister.pipeline._report import is_news, quieten

__all__ = ["Membership", "check_folders", "is_news", "join_folder", "quieten"]
