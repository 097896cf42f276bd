"""Examples that use an SDK have a copy of it, are whole without this repository, and can be installed."""

from __future__ import annotations

import json

import pytest

from tests.examples.sdk_copies import COPIES, ROOT, files
from tests.support.zot_process import Zot


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: str(copy.relative_to(ROOT)))
def test_the_copy_is_the_sdk(copy):
    assert files(copy) == files(COPIES[copy]), "run make setup, or python -m tests.examples.sdk_copies"


@pytest.mark.parametrize("name", ["todo", "scratchpad"])
def test_an_installed_copy_works(name, folder_of, tmp_path):
    zot = Zot(tmp_path)
    del zot.env["PYTHONPATH"]
    zot.env["PYTHONDONTWRITEBYTECODE"] = "1"
    installed = zot.run("ext", "install", folder_of(name), "--json")
    assert installed.status == 0, installed.stderr
    folder = zot.home / "extensions" / name
    tested = zot.run("ext", "test", folder, "--json")
    assert tested.status == 0, tested.text
    assert json.loads(zot.run("ext", "info", name, "--json").stdout)["name"] == name
