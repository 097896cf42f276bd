"""Commands of the screen itself that touch files."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from pyzot.errors import ZotError
from pyzot.screen import built_ins
from pyzot.screen.commands import Kind, Line


def export(cwd, name):
    """The exports that the engine was asked for."""
    asked = []

    async def write(form, path):
        asked.append((form, path))
        return path

    scene = SimpleNamespace(cwd=str(cwd), runtime=SimpleNamespace(export=write), say=lambda _style, _text: None)
    asyncio.run(built_ins.carry_out(scene, None, Line(Kind.BUILT_IN, f"/export {name}", "export", name)))
    return asked


@pytest.mark.parametrize(("name", "form"), [("", "markdown"), ("a.HTML", "html"), ("a.zotsession", "zotsession")])
def test_an_export_goes_to_a_new_file(tmp_path, name, form):
    assert export(tmp_path, name) == [(form, str(tmp_path / (name or "conversation.md")))]


def test_an_export_replaces_no_file_and_makes_no_folder(tmp_path):
    (tmp_path / "precious.md").write_text("mine")
    with pytest.raises(ZotError, match="is there already; name another file"):
        export(tmp_path, "precious.md")
    with pytest.raises(ZotError, match="in a folder that is not there"):
        export(tmp_path, "none/a.md")
    assert (tmp_path / "precious.md").read_text() == "mine"
