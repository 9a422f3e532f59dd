"""What the Snakefile needs beyond its rules: folders, what is printed, and the bridge to DVC."""

from magister.pipeline._adopt import Adoption, adopt
from magister.pipeline._bridge import Bridge, describe, say
from magister.pipeline._dvc import DvcProject, in_stage
from magister.pipeline._folder import Membership, check_folders, join_folder
from magister.pipeline._proof import Proof, proof_of
from magister.pipeline._report import is_news, quieten

__all__ = [
    "Adoption",
    "Bridge",
    "DvcProject",
    "Membership",
    "Proof",
    "adopt",
    "check_folders",
    "describe",
    "in_stage",
    "is_news",
    "join_folder",
    "proof_of",
    "quieten",
    "say",
]
