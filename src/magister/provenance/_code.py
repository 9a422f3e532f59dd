"""Which source files a step's result depends on: the static import closure of its script."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOTS = {"magister": Path("src/magister"), "scripts": Path("scripts")}


@cache
def _module_file(name: str, root: Path) -> Path | None:
    head, *rest = name.split(".")
    if head not in _ROOTS:
        return None
    base = root / _ROOTS[head]
    path = base.joinpath(*rest)
    for candidate in (path.with_suffix(".py") if rest else None, path / "__init__.py"):
        if candidate is not None and candidate.is_file():
            return candidate
    return None


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a file, also those inside others; what an expression holds is not looked at."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            # Read by type checkers, never run.
            waiting += node.orelse
            continue
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                waiting += inner


@cache
def _imports(path: Path, module: str, is_package: bool) -> frozenset[str]:
    names: set[str] = set()
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                parents = parents[: len(parents) - node.level + (1 if is_package else 0)]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    # Importing a.b.c runs a/__init__ and a.b/__init__ too.
    return frozenset(name.rsplit(".", n)[0] for name in names for n in range(name.count(".") + 1))


@cache
def code_files(module: str, root: Path = Path(".")) -> tuple[str, ...]:
    """Source files that a module runs, found without importing anything.

    Args:
        module: dotted name, for instance `scripts.teaching.guide`.
        root: the project's folder.

    Returns:
        Paths relative to `root`, sorted: the module and everything of `magister` and `scripts` that it
        imports, directly or through others. Imports inside functions count, those for type checkers alone do not.

    Raises:
        FileNotFoundError: there is no such module.
    """
    start = _module_file(module, root)
    if start is None:
        raise FileNotFoundError(f"no module {module} under {', '.join(map(str, _ROOTS.values()))}")
    seen: dict[str, Path] = {}
    waiting = [module, *(module.rsplit(".", n)[0] for n in range(1, module.count(".") + 1))]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        path = _module_file(name, root)
        if path is None:
            continue
        seen[name] = path
        waiting.extend(_imports(path, name, path.name == "__init__.py"))
    return tuple(sorted({path.relative_to(root).as_posix() for path in seen.values()}))
