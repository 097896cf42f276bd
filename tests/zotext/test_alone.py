"""The package needs the standard library only, works as a copied folder, and is quick to import."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "zotext"
MODULES = sorted(PACKAGE.rglob("*.py"))
SLOW = {"typing", "inspect", "dataclasses", "json", "re", "enum", "threading", "asyncio", "pathlib", "traceback"}
"""Modules that are slow to import. `import zotext` imports none of them."""


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_the_package_and_the_standard_library(module: Path):
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert str(node.module).split(".")[0] in sys.stdlib_module_names


def test_importing_the_package_imports_nothing_slow():
    code = f"import sys; before = set(sys.modules); sys.path.insert(0, {str(PACKAGE.parent)!r}); import zotext; "
    code += "print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "zotext.extension" in loaded
    assert not loaded & SLOW
    assert not any(name.startswith("zotext.testing") for name in loaded)


def test_a_copied_folder_works_next_to_an_extension(tmp_path: Path):
    shutil.copytree(PACKAGE, tmp_path / "zotext", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "main.py").write_text(
        "import zotext\nfrom zotext import Extension\n"
        "ext = Extension('copied')\n"
        "@ext.tool\ndef where() -> str:\n    return zotext.__file__\n"
        "ext.run()\n"
    )
    (tmp_path / "test_main.py").write_text(
        "import sys\nfrom zotext.testing import spawn\n"
        "with spawn([sys.executable, '-S', 'main.py']) as host:\n    print(host.call_tool('where').text)\n"
    )
    done = subprocess.run([sys.executable, "-S", "test_main.py"], cwd=tmp_path, capture_output=True, text=True, env={})
    assert done.stderr == ""
    assert Path(done.stdout.strip()) == tmp_path / "zotext" / "__init__.py"


def test_an_older_python_gets_an_error_with_the_needed_version():
    code = f"import sys; sys.version_info = (3, 8, 18); sys.path.insert(0, {str(PACKAGE.parent)!r}); import zotext"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert "ImportError: zotext needs Python 3.9 or later" in done.stderr.splitlines()[-1]


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").exists()
