"""Notes, logs and the end of an extension."""

from __future__ import annotations

from typing import Any

from zotext import Extension  # noqa: TC001  (hints of tools are read)
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
