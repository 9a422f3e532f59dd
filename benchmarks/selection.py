"""How long selection takes and how much memory it needs, beside a plain NumPy greedy.

Usage: python benchmarks/selection.py [--models 8] [--instructions 30000] [--width 1536] [--memory 2] [--plain 4]

Writes made-up vectors (topics with noise, float16) into a temporary folder, then picks K = 10 instructions for every
pair: exact cosines by blocks, lazy greedy. `plain` does some pairs the obvious way, whole files in memory as float32,
and tells how often the picks agree; its time is scaled to all models and pairs. Files lie in the system's cache when
the clock starts ("after load").
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from magister.arena.effort import Effort
from magister.arena.selection import select
from magister.arena.similarity import all_pairs, cosine_similarities
from magister.arena.vectors import Vectors

K, LAMBDA = 10, 1.0
_STEP = 4096


class Peak:
    """The largest resident set while it runs, sampled; mapped pages of files count."""

    def __enter__(self) -> Peak:
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        page = resource.getpagesize()
        while not self._stop.wait(0.01):
            self.bytes = max(self.bytes, int(Path("/proc/self/statm").read_text().split()[1]) * page)


class Clock:
    """Seconds, and seconds of all cores, summed over its uses."""

    seconds = cpu = 0.0

    def __enter__(self) -> None:
        self._begin = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begin[0]
        self.cpu += time.process_time() - self._begin[1]


def make(folder: Path, models: int, instructions: int, width: int) -> None:
    """Write the instructions' vectors and each model's: alike within a topic, and answers like their question."""
    rng = np.random.Generator(np.random.PCG64(7))
    common = rng.standard_normal(width, dtype=np.float32)
    topics = rng.standard_normal((40, width), dtype=np.float32)
    names = ["instructions", *(f"model-{k:03}" for k in range(models))]
    files = [
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float16, (instructions, width))
        for name in names
    ]
    for start in range(0, instructions, _STEP):
        size = min(_STEP, instructions - start)
        question = (
            common + topics[rng.integers(0, 40, size)] + rng.standard_normal((size, width), dtype=np.float32)
        )
        for k, file in enumerate(files):
            noise = rng.standard_normal((size, width), dtype=np.float32) if k else np.float32(0)
            rows = question + noise * rng.uniform(0.3, 1.2, (size, 1)).astype(np.float32)
            file[start : start + size] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for file in files:
        file.flush()


def plain(first: np.ndarray, second: np.ndarray, questions: np.ndarray) -> list[int]:
    """Full greedy of one pair the obvious way: all cosines with the latest pick, at every step."""
    similarity = np.einsum("nd,nd->n", first, second)
    penalty = np.full(similarity.shape, -np.inf, dtype=np.float32)
    picks = [int(similarity.argmin())]
    while len(picks) < K:
        penalty = np.maximum(penalty, questions @ questions[picks[-1]])
        objective = similarity + LAMBDA * penalty
        objective[picks] = np.inf
        picks.append(int(objective.argmin()))
    return picks


def main() -> None:
    """Make the files, time both ways, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=int, default=8)
    parser.add_argument("--instructions", type=int, default=30_000)
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--memory", type=float, default=2.0, help="GiB of working arrays")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--plain", type=int, default=4, help="pairs that the plain way does too; 0 for none")
    parser.add_argument("--folder", type=Path, default=None, help="where the temporary folder goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        make(folder, options.models, options.instructions, options.width)
        run(folder, options)


def run(folder: Path, options: argparse.Namespace) -> None:
    """Time the selection from the files of a folder."""
    ids = pa.array([f"i{k:08}" for k in range(options.instructions)])
    paths = sorted(folder.glob("model-*.npy"))
    models = [Vectors(path.stem, np.load(path, mmap_mode="r"), ids) for path in paths]
    questions = Vectors("instructions", np.load(folder / "instructions.npy", mmap_mode="r"), ids)
    effort = Effort(int(options.memory * 2**30), options.threads)
    found: dict[tuple[str, str], list[int]] = {}
    alike, picked = Clock(), Clock()
    with Peak() as peak:
        parts = cosine_similarities(models, ids, effort=effort)
        while True:
            with alike:
                part = next(parts, None)
            if part is None:
                break
            with picked:
                picks = select(part.values, questions, K, LAMBDA, effort=effort)
            found |= dict(zip(part.pairs, picks.rows.tolist(), strict=True))
    pairs = all_pairs([model.name for model in models])
    shape = f"{options.models} models, {len(pairs)} pairs, {options.instructions:,} instructions, {options.width} wide"
    print(f"{shape}, K = {K}, lambda = {LAMBDA:g}, {effort.workers()} threads")
    print(f"{'':24}{'seconds':>10}{'CPU':>10}{'pairs':>8}{'s for all pairs':>17}")
    both = alike.seconds + picked.seconds
    for label, seconds, cpu in (
        ("similarities", alike.seconds, alike.cpu),
        ("lazy greedy", picked.seconds, picked.cpu),
        ("both", both, alike.cpu + picked.cpu),
    ):
        print(f"{label:24}{seconds:10.2f}{cpu:10.2f}{len(pairs):8}{seconds:17.2f}")
    if options.plain:
        some = pairs[:: max(1, len(pairs) // options.plain)][: options.plain]
        names = sorted({"instructions", *(name for pair in some for name in pair)})
        reading, picking = Clock(), Clock()
        with reading:
            read = {name: np.load(folder / f"{name}.npy").astype(np.float32) for name in names}
        with picking:
            rows = {pair: plain(read[pair[0]], read[pair[1]], read["instructions"]) for pair in some}
        whole = reading.seconds / len(names) * (len(models) + 1) + picking.seconds / len(some) * len(pairs)
        seconds, cpu = reading.seconds + picking.seconds, reading.cpu + picking.cpu
        print(f"{'plain NumPy, float32':24}{seconds:10.2f}{cpu:10.2f}{len(some):8}{whole:17.2f}")
        same = sum(found[pair] == rows[pair] for pair in some)
        print(f"ratio {whole / both:.1f}; the same picks in {same} of {len(some)} pairs")
    print(
        f"peak memory of the selection {peak.bytes / 2**30:.2f} GiB (working arrays {options.memory:g} GiB)"
    )


if __name__ == "__main__":
    main()
