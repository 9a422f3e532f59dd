"""What the Snakefile needs beyond its rules: folders, what is printed, and the bridge to DVC."""

from magister.pipeline._adopt import Adoption, adopt
from magister.pipeline._bridge import Bridge, describe, say
from magister.pipeline._dvc import DvcProject, in_stage
from magister.pipeline._folder import Membership, check_folders, join_folder
from magister.pipeline._jobs import JOBS_FILE, Job, read_jobs, write_jobs
from magister.pipeline._manifest import (
    MANIFEST,
    folder_md5,
    read_manifest,
    recorded_md5,
    update_manifest,
    write_manifest,
)
from magister.pipeline._proof import Proof, has_run, proof_of
from magister.pipeline._report import at_exit, is_news, quieten
from magister.pipeline._seen import hash_files

__all__ = [
    "JOBS_FILE",
    "MANIFEST",
    "Adoption",
    "Bridge",
    "DvcProject",
    "Job",
    "Membership",
    "Proof",
    "adopt",
    "at_exit",
    "check_folders",
    "describe",
    "folder_md5",
    "has_run",
    "hash_files",
    "in_stage",
    "is_news",
    "join_folder",
    "proof_of",
    "quieten",
    "read_jobs",
    "read_manifest",
    "recorded_md5",
    "say",
    "update_manifest",
    "write_jobs",
    "write_manifest",
]
