"""`zot models` in its two forms."""

from __future__ import annotations

import json

import pytest

from agent.model import catalogue
from agent.model.catalogue import CATALOGUE, DEFAULT_MODEL
from cli.models.list import run
from cli.os_errors import status_after
from wire.exit_codes import Status


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOT_HOME", str(tmp_path))
    yield tmp_path
    catalogue.use(())


def listed(capsys):
    assert run(as_json=True) == 0
    return {(row["provider"], row["id"]): row for row in map(json.loads, capsys.readouterr().out.splitlines())}


def test_the_packaged_models_with_their_date_and_the_default(home, capsys):
    rows = listed(capsys)
    assert [model for _, model in rows] == list(CATALOGUE)
    assert [row["id"] for row in rows.values() if row["default"]] == [DEFAULT_MODEL]
    haiku = rows["anthropic", "claude-haiku-5-5"]
    assert (haiku["context_window"], haiku["prices"]["input"], haiku["long_prompt"]["over"]) == (
        1_000_000,
        0.1,
        100_000,
    )
    assert {(row["source"], row["read"]) for row in rows.values()} == {("packaged", catalogue.READ)}
    assert rows["anthropic", "claude-sonnet-4-5"]["retires"] == "2026-11-30"


def test_unknown_is_said_and_free_is_0(home, capsys):
    models = [{"id": "new"}, {"id": "free", "priceInput": 0, "priceOutput": 0, "reasoning": False}]
    (home / "models.json").write_text(json.dumps({"providers": {"ollama": {"models": models}}}))
    rows = listed(capsys)
    new, free = rows["ollama", "new"], rows["ollama", "free"]
    assert (new["context_window"], new["prices"]["input"], new["source"], new["read"]) == (
        None, None, "models.json", None,
    )  # fmt: skip
    assert (free["prices"]["input"], free["prices"]["cache_read"], free["reasoning"]) == (0, None, "none")
    assert run(as_json=False) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("new ")]
    assert line.split() == ["new", "ollama", *["unknown"] * 4, "by", "budget", "models.json"]


def test_settings_and_what_is_left_out_are_said(home, capsys):
    (home / "config.json").write_text('{"provider": "vllm"}')
    text = '{"providers": {"mine": {"baseUrl": "http://x", "models": [{"id": "m"}]}, "vllm": {"nonsense": 1}}}'
    (home / "models.json").write_text(text)
    assert run(as_json=False) == 0
    said = capsys.readouterr()
    assert "  default" not in said.out
    assert said.err.splitlines() == [
        f"zot models: {home / 'models.json'}: nothing reads the field 'providers.vllm.nonsense'",
        "zot models: models.json: skipped mine: it speaks openai, and this program the Messages API only",
        "zot models: the default is none: vllm needs --model ID",
    ]


@pytest.mark.parametrize("name", ["models.json", "config.json"])
def test_a_faulty_file_ends_it(home, capsys, name):
    (home / name).write_text("{")
    with pytest.raises(ValueError, match=str(home / name)) as caught:
        run(as_json=True)
    assert (status_after(caught.value), capsys.readouterr().out) == (Status.USAGE, "")
