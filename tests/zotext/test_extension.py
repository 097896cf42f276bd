"""Notes, logs and the end of an extension."""

from __future__ import annotations

from typing import Any

import pytest

from zotext import Extension
from zotext.testing import Harness, Note


def test_notes_and_logs(ext: Extension, capsys: Any):
    ext.notify("info", "before the run")
    ext.log("early", "debug", city="Oslo")
    assert capsys.readouterr().err == "[debug] early city='Oslo'\n"
    with Harness(ext) as host:
        assert host.notes == [Note("info", "before the run")]
        ext.clear_notes()
        ext.notify("warn", "after")
        assert host.notes == [Note("warn", "after")]
        ext.log("told", "warn", n=1, odd={1, 2}, nan=float("nan"))
        (line,) = host.logs
        assert (line["message"], line["level"]) == ("told", "warn")
        assert line["fields"] == {"n": 1, "odd": "{1, 2}", "nan": "nan"}
    with Harness(ext, features=()) as host:
        ext.log("plain")
        assert host.logs == []
    assert capsys.readouterr().err == "[info] plain\n"


def test_prompts_and_panels_at_any_time(ext: Extension):
    ext.submit("before the run")
    with Harness(ext) as host:
        assert host.prompts == ["before the run"]
        ext.submit(" and in it\n")
        assert host.prompts[1] == " and in it\n"
        ext.open_panel("p", "one\ntwo", title="A panel")
        assert (host.panels["p"].lines, host.panels["p"].title) == (["one", "two"], "A panel")
        assert "submit" not in host.frames[0]["capabilities"]
    with Harness(Extension("late", late_prompts=True)) as host:
        assert "submit" in host.frames[0]["capabilities"]


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        (lambda ext: ext.submit(3), TypeError, "submit() takes a str, not int"),
        (lambda ext: ext.submit(None), TypeError, "submit() takes a str, not NoneType"),
        (lambda ext: ext.submit(" \n"), ValueError, "submit(): the prompt is blank, which a host ignores"),
        (lambda ext: ext.open_panel(3), TypeError, "id, title and footer of a panel are str, not int"),
        (
            lambda ext: ext.open_panel("p", title=None),
            TypeError,
            "id, title and footer of a panel are str, not NoneType",
        ),
        (lambda ext: ext.open_panel("p", [1]), TypeError, "a panel's lines are str, not int"),
    ],
)
def test_a_prompt_or_panel_of_a_wrong_type_raises_at_once(ext: Extension, wrong: Any, kind: type, said: str):
    with Harness(ext) as host:
        before = len(host.frames)
        with pytest.raises(kind) as caught:
            wrong(ext)
        assert str(caught.value) == said
        assert len(host.frames) == before
