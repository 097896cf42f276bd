"""The plan of the code: no circle of imports, rooms of at most 14 files with a docstring, no file over 400 lines."""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("wire", "supervisor", "agent", "cli", "pyzot", "zotext", "benchmarks")
FILES_LIMIT = 14
LINES_LIMIT = 400
FOLDERS_WITH_CODE = (*PACKAGES, "sdk/typescript/src", "tests", "docs")
CODE = frozenset({".py", ".ts", ".js", ".mjs", ".sh", ".c", ".css"})
NOT_OURS = ("node_modules", "__pycache__")
TYPESCRIPT_IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?\bfrom\s+["']\./([\w-]+)\.js["']""", re.MULTILINE)

Graph = dict[str, set[str]]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, modules: set[str]) -> set[str]:
    """Modules that a file imports, at any depth and for types only too. A package counts where a name of its own
    `__init__` is taken, not where a module in it is."""
    here = module_name(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                found.add(inner if inner in modules else source)
    return (found & modules) - {module_name(path)}


def python_graph() -> Graph:
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py") if "project" not in path.parts]
    modules = {module_name(path) for path in files}
    return {module_name(path): imports_of(path, modules) for path in files}


def typescript_graph() -> Graph:
    files = (ROOT / "sdk" / "typescript" / "src").glob("*.ts")
    return {path.stem: set(TYPESCRIPT_IMPORT.findall(path.read_text("utf-8"))) for path in files}


def circle_in(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("graph", [python_graph, typescript_graph])
def test_no_circle_of_imports(graph):
    found = graph()
    assert sum(map(len, found.values())) > len(found), "imports are read"
    assert circle_in(found) == []


def test_a_circle_is_found():
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})[0] in "abc"


def rooms() -> list[Path]:
    return sorted({path.parent for name in PACKAGES[:-2] for path in (ROOT / name).rglob("__init__.py")})


def test_each_room_says_what_lives_there():
    silent = [str(room.relative_to(ROOT)) for room in rooms() if not docstring_of(room / "__init__.py")]
    assert silent == []


def docstring_of(path: Path) -> str | None:
    return ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_a_room_has_at_most_14_files():
    files = (path for room in rooms() for path in room.glob("*.py") if path.name != "__init__.py")
    sizes = Counter(path.parent.relative_to(ROOT) for path in files)
    assert {str(room): size for room, size in sizes.items() if size > FILES_LIMIT} == {}


def test_no_file_is_over_400_lines():
    sizes = {
        str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n")
        for folder in FOLDERS_WITH_CODE
        for path in (ROOT / folder).rglob("*")
        if path.suffix in CODE and path.is_file() and not set(path.parts) & set(NOT_OURS)
    }
    assert len(sizes) > 500
    assert {file: size for file, size in sizes.items() if size > LINES_LIMIT} == {}
