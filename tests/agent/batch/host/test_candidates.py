"""Which batches get a host, and what it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.host.candidates import host_order, shared_words
from agent.batch.request import BatchRequest
from agent.options import RunRequest
from agent.request_checks import UsageError
from tests.support.extension_folder import extension
from tests.support.mcp_files import write_servers
from wire.batch.host_lines import Serving, decode_from_host, decode_order, encode

if TYPE_CHECKING:
    from pathlib import Path

    from wire.batch.host_lines import HostOrder


def order(folder: Path, *share: str, **flags: Any) -> HostOrder | None:
    run = RunRequest(**{"cwd": str(folder), "discover": False, **flags})
    return host_order(BatchRequest(folder=folder / "runs", run=run, share=share), folder / "home", "1")


def test_an_extension_that_may_be_shared_makes_an_order_with_the_flags_of_the_batch(tmp_path: Path) -> None:
    private, leased = extension(tmp_path, "echo"), extension(tmp_path, "echo", name="leased", sessions="leased")
    assert order(tmp_path, extensions=(str(private),)) is None
    made = order(tmp_path, extensions=(str(private), str(leased)), strict_guards=True, trust_project=True)
    assert made is not None
    assert (made.cwd, made.home, made.discover) == (str(tmp_path), str(tmp_path / "home"), False)
    assert (made.strict_guards, made.trust_project, made.allow_asked) == (True, True, False)
    assert made.extensions == (str(private), str(leased))
    assert decode_order(encode(made)) == made


def test_share_and_the_settings_name_extensions(tmp_path: Path) -> None:
    private = str(extension(tmp_path, "echo"))
    made = order(tmp_path, "echo", extensions=(private,))
    assert made is not None
    assert made.share == ("echo",)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.json").write_text(json.dumps({"share": ["echo"]}))
    assert order(tmp_path, extensions=(private,)) is not None
    (tmp_path / "home" / "config.json").write_text("{")
    assert order(tmp_path, extensions=(private,)) is None, "each run says why it cannot start"


def test_a_wrong_name_and_a_share_without_effect_are_refused(tmp_path: Path) -> None:
    private = str(extension(tmp_path, "echo"))
    with pytest.raises(UsageError, match="no such extension: 'eco'; did you mean 'echo'"):
        order(tmp_path, "eco", extensions=(private,))
    with pytest.raises(UsageError, match="--share has no effect with --host"):
        order(tmp_path, "echo", extensions=(private,), host=".")
    assert order(tmp_path, extensions=(private,), host=".") is None


def test_servers_and_extensions_of_the_project_count_only_if_they_are_looked_for(tmp_path: Path) -> None:
    write_servers(tmp_path / ".mcp.json", books={"command": "true", "sessions": "shared"})
    assert order(tmp_path) is None
    assert order(tmp_path, discover=True) is not None


def test_the_user_is_told_of_what_is_shared_and_of_what_is_not() -> None:
    line = Serving(socket="s", shared=("a", "b"), private={"c": "why"})
    assert decode_from_host(encode(line)) == line
    assert list(shared_words(line)) == ["one process each of a and b serves all runs", "extension c is not shared: why"]
    assert list(shared_words(Serving(socket="s", shared=("a",)))) == ["one process of a serves all runs"]
    leased = Serving(socket="s", shared=(), leased=("a", "b"))
    assert list(shared_words(leased)) == ["processes of a and b serve one run after another"]
    assert list(shared_words(Serving(socket="", shared=()))) == []
