"""Where every artifact comes from: hashes, lineage records and the one writer that embeds them."""

from magister.provenance._artifact import conform, write_json, write_sidecar, write_table, write_text
from magister.provenance._code import code_files
from magister.provenance._csv import inert
from magister.provenance._hash import file_md5, file_sha256, value_sha256
from magister.provenance._lineage import (
    SIDECAR_SUFFIX,
    Lineage,
    code_md5s,
    make_lineage,
    read_lineage,
)

__all__ = [
    "SIDECAR_SUFFIX",
    "Lineage",
    "code_files",
    "code_md5s",
    "conform",
    "file_md5",
    "file_sha256",
    "inert",
    "make_lineage",
    "read_lineage",
    "value_sha256",
    "write_json",
    "write_sidecar",
    "write_table",
    "write_text",
]
