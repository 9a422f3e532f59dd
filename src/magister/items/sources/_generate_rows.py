"""Child process: one reasoning-gym task to JSON lines. Run as a file; imports nothing of this package."""

import contextlib
import json
import sys


def main() -> int:
    """Read `{generator, size, seed, args}` from stdin; write a row a line, or an error as one object."""
    order = json.load(sys.stdin)
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # what the library prints is not data
        import reasoning_gym
        from reasoning_gym.factory import DATASETS

        if order["generator"] not in DATASETS:
            json.dump({"known": sorted(DATASETS)}, out)
            return 3
        try:
            entries = reasoning_gym.create_dataset(
                order["generator"], size=order["size"], seed=order["seed"], **order["args"]
            )
            rows = [entries[place] for place in range(order["size"])]
        except Exception as error:  # noqa: BLE001 - whatever a task raises is reported to the user
            json.dump({"error": f"{type(error).__name__}: {error}"}, out)
            return 4
    for row in rows:
        metadata = row.get("metadata") or {}
        template = metadata.get("template_id", metadata.get("template"))
        kept = {"question": row["question"], "answer": None if row["answer"] is None else str(row["answer"])}
        if isinstance(template, str | int):
            kept["template"] = template
        out.write(json.dumps(kept) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
