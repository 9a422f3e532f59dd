"""A project's artifacts as an audit reads them: along their lineage, and compared with what it says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.audit.trail import Trail
from magister.errors import UserError

Filters = Sequence[tuple[str, str, Any]]


@dataclass
class Project:
    """A finished project.

    Attributes:
        trail: its artifacts and what each was made from.
        read: paths that were read, by which the audit's own steps can be checked.
    """

    trail: Trail
    read: dict[str, None] = field(default_factory=dict)

    def wildcards(self, path: str) -> Mapping[str, str]:
        """The wildcards of the rule that made a file."""
        artifact = self.trail.artifacts.get(path)
        found = artifact.lineage.get("wildcards", {}) if artifact else {}
        return found if isinstance(found, Mapping) else {}

    def params(self, path: str) -> Mapping[str, Any]:
        """The parameters that the rule of a file was given."""
        artifact = self.trail.artifacts.get(path)
        found = artifact.lineage.get("params", {}) if artifact else {}
        return found if isinstance(found, Mapping) else {}

    def rule(self, path: str) -> str:
        """The rule that made a file; empty where none did."""
        artifact = self.trail.artifacts.get(path)
        return artifact.rule if artifact else ""

    def inputs(self, path: str, rule: str, suffix: str = "", **wildcards: str) -> list[str]:
        """What a file was made from, of one rule.

        Args:
            path: the file.
            rule: that made the inputs.
            suffix: how their names end.
            wildcards: that rule's wildcards with these values.

        Returns:
            Paths, sorted.
        """
        artifact = self.trail.artifacts.get(path)
        return [
            name
            for name in sorted(artifact.inputs if artifact else ())
            if self.rule(name) == rule
            and name.endswith(suffix)
            and all(self.wildcards(name).get(key) == value for key, value in wildcards.items())
        ]

    def input(self, path: str, rule: str, suffix: str = "", **wildcards: str) -> str:
        """The one input of a rule (see `inputs`); the first by name where there are several.

        Raises:
            UserError: there is none, or it is gone.
        """
        found = self.inputs(path, rule, suffix, **wildcards)
        if found:
            return found[0]
        artifact = self.trail.artifacts.get(path)
        gone = [
            name
            for name in sorted(artifact.inputs if artifact else ())
            if not (self.trail.root / name).is_file()
        ]
        if gone:
            raise UserError(
                f"{gone[0]}: not there, and {path} was made from it. Run: magister restore, or snakemake --cores all"
            )
        raise UserError(
            f"{path}: its lineage names nothing that the rule {rule} has made; run magister verify {path}"
        )

    def made_with(self, path: str, suffix: str) -> str | None:
        """Another file that the same run of a rule has written; None where it is gone."""
        rule, wildcards = self.rule(path), self.wildcards(path)
        for name, artifact in self.trail.artifacts.items():
            if artifact.rule == rule and name.endswith(suffix) and self.wildcards(name) == wildcards:
                return name
        return None

    def table(
        self, path: str, columns: Sequence[str] | None = None, filters: Filters | None = None
    ) -> pa.Table:
        """Some columns and rows of a table.

        Args:
            path: from the project's folder.
            columns: all by default.
            filters: (column, operator, value), all of which must hold.

        Raises:
            UserError: it is gone, damaged, or lacks a column.
        """
        file = self.trail.root / path
        self.read[path] = None
        if not file.is_file():
            raise UserError(f"{path}: not there. Run: magister restore, or snakemake --cores all")
        try:
            if not filters:
                return pq.read_table(file, columns=list(columns) if columns else None)
            schema = pq.read_schema(file)
            # Texts that repeat are read as codes, which takes a quarter of the time where few of many rows are wanted.
            coded = [
                field.name for field in schema if field.type == pa.string() and "request" not in field.name
            ]
            found = pq.read_table(
                file,
                columns=list(columns) if columns else None,
                filters=list(filters),
                read_dictionary=coded,
            )
            return found.cast(pa.schema([schema.field(name) for name in found.column_names]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError) as error:
            raise UserError(f"{path}: damaged, or not the table that it should be: {error}") from None

    def document(self, path: str) -> Any:
        """A JSON file.

        Raises:
            UserError: it is gone, or no JSON.
        """
        self.read[path] = None
        try:
            return json.loads((self.trail.root / path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{path}: not there. Run: magister restore, or snakemake --cores all") from None
        except ValueError as error:
            raise UserError(f"{path}: damaged: {error}") from None

    def changed(self) -> list[str]:
        """Sentences about files that were read and are not what the files made from them were made from."""
        said = []
        for path in sorted(self.read):
            now = self.trail.md5(path)
            for maker in self.trail.made_from.get(path, ()):
                recorded = self.trail.artifacts[maker].inputs.get(path)
                if maker in self.read and recorded != now:
                    said.append(
                        f"{path} has changed since {maker} was made from it: its md5 was {recorded} and is {now}"
                    )
        return said
