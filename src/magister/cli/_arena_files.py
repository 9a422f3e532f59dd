"""Files of an arena: vectors, ids and similarities, with what is wrong in them named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from magister.cli._tables import read_parquet
from magister.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from magister.arena.vectors import Vectors

_KINDS = (".csv", ".jsonl", ".parquet")
_ID_KINDS = (*_KINDS, ".txt")


def read_table(path: Path, texts: tuple[str, ...]) -> pa.Table:
    """Read a .csv, .jsonl or .parquet file.

    Args:
        path: the file.
        texts: columns that are texts whatever they look like (the id 007 keeps its zeros).

    Raises:
        UserError: it is missing, of another kind, or cannot be read.
    """
    import pyarrow as pa
    from pyarrow import csv, json

    suffix = path.suffix.lower()
    if suffix not in _KINDS:
        raise UserError(
            f"{path}: expected a file of kind {', '.join(_KINDS)}; found {suffix or 'no suffix'!r}"
        )
    types = dict.fromkeys(texts, pa.string())
    if suffix == ".parquet":
        return read_parquet(path)
    try:
        if suffix == ".csv":
            options = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
            return csv.read_csv(path, convert_options=options)
        schema = pa.schema(list(types.items()))
        return json.read_json(path, parse_options=json.ParseOptions(explicit_schema=schema))
    except FileNotFoundError:
        raise UserError(f"{path}: not found") from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def read_ids(path: Path) -> pa.StringArray:
    """Instruction ids of the rows of a vector file: a line each (.txt), or the column instruction_id.

    Raises:
        UserError: the file cannot be read, or has no such column.
    """
    from magister.arena.vectors import string_array

    if path.suffix.lower() == ".txt":
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            raise UserError(f"{path}: not found") from None
        except UnicodeDecodeError:
            raise UserError(f"{path}: no UTF-8 text") from None
        blank = [number for number, line in enumerate(lines, 1) if not line.strip()]
        if blank:
            raise UserError(f"{path}: line {blank[0]} is empty; expected an instruction id on each line")
        return string_array([line.strip() for line in lines])
    table = read_table(path, ("instruction_id",))
    if "instruction_id" not in table.column_names:
        raise UserError(f"{path}: no column instruction_id; found {', '.join(table.column_names)}")
    return string_array(table["instruction_id"])


def read_vectors(path: Path, name: str, ids: Path | None) -> Vectors:
    """Map a .npy file, with the ids of its rows.

    Args:
        path: the file.
        name: what messages call its vectors.
        ids: file of ids, where none of the same name lies beside the vectors (.txt, .csv, .jsonl, .parquet).

    Raises:
        UserError: the file cannot be read or is no matrix of floats, or its ids are unknown.
    """
    import numpy as np

    from magister.arena.vectors import Vectors

    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise UserError(f"{path}: not found") from None
    except (ValueError, EOFError) as error:
        raise UserError(f"{path}: damaged, or no .npy file of numbers: {error}") from None
    if not isinstance(values, np.ndarray):
        raise UserError(f"{path}: holds several arrays; expected one, in a .npy file")
    beside = [path.with_suffix(kind) for kind in _ID_KINDS if path.with_suffix(kind).is_file()]
    if len(beside) > 1:
        raise UserError(f"{path}: ids in {' and in '.join(file.name for file in beside)}; expected one file")
    known = beside[0] if beside else ids
    if known is None:
        raise UserError(
            f"{path}: the ids of its rows are unknown; name a file with --ids, or put {path.stem}.txt or "
            f"{path.stem}.csv (column instruction_id) beside it"
        )
    try:
        return Vectors(name, values, read_ids(known))
    except UserError as error:
        raise UserError(f"{path}, ids of {known.name}: {error}") from None
