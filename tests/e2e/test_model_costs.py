"""The cost of a run: prompts that are cached for an hour, and the part that extensions have caused."""

from __future__ import annotations

import json

import pytest

from tests.support.extension_folder import extension
from tests.support.messages_server import CachingAnswers, text_reply, tool_reply
from tests.support.messages_server.prefix_cache import PrefixCache
from wire.exit_codes import Status

MODEL = "claude-sonnet-4-5"
INPUT, OUTPUT, READ, WRITE_5M, WRITE_1H = 3, 15, 0.3, 3.75, 6


def answers() -> CachingAnswers:
    def reply(request, usage):
        if len(request.body["messages"]) == 1:
            return tool_reply([("read", {"path": "a.txt"})], output_tokens=7, **usage)
        return text_reply("done", output_tokens=7, **usage)

    return CachingAnswers(reply, cache=PrefixCache(minimum=0))


@pytest.mark.parametrize(("flags", "is_hour"), [(["--cache-ttl", "1h"], True), (["--cache-ttl=5m"], False)])
def test_a_run_asks_for_the_time_and_pays_its_price(zot, server, flags, is_hour):
    (zot.cwd / "a.txt").write_text("alpha\n")
    server.otherwise = counted = answers()
    cassette = zot.folder / "c.jsonl"
    asked = ["--base-url", server.base_url, "--api-key", "k", "--model", MODEL, "--record", cassette, *flags]
    result = zot.run("--json", "--no-ext", *asked, "go").check(Status.OK).result
    bodies = json.dumps([request.body for request in server.requests])
    assert bodies.count('"ttl": "1h"') == (7 if is_hour else 0), "three marks, and four in the second request"
    first, second = (each.use for each in counted.counted)
    assert (first.read, second.read, second.input) == (0, first.total, 0)
    written = first.total + second.total - second.read
    dollars = (second.read * READ + written * (WRITE_1H if is_hour else WRITE_5M) + 14 * OUTPUT) / 1e6
    assert result.usage.cost_usd == pytest.approx(dollars, abs=2e-6)
    assert result.usage.cache_write == written
    replayed = zot.run("--json", "--no-ext", "--replay", cassette, "go").check(Status.OK).result
    assert replayed.usage == result.usage, "the marks are no part of a recording; the counts are"


@pytest.mark.parametrize("model", [MODEL, "unpriced"])
def test_an_extension_pays_for_its_definitions_and_results(zot, server, model):
    def reply(request, usage):
        if len(request.body["messages"]) == 1:
            return tool_reply([("echo", {"text": "word " * 2_000})], output_tokens=7, **usage)
        return text_reply("done", output_tokens=7, **usage)

    server.otherwise = counted = CachingAnswers(reply, cache=PrefixCache(minimum=0))
    asked = ["--base-url", server.base_url, "--api-key", "k", "--model", model, "-e", extension(zot.folder, "echo.py")]
    result = zot.run("--json", "--stats", "s.jsonl", *asked, "go").check(Status.OK).result
    cost, (first, second) = result.extensions["echo"], (each.use for each in counted.counted)
    assert 2_500 < cost.model_tokens < first.total + second.total
    if model == MODEL:
        assert cost.model_tokens * READ / 1e6 < cost.model_usd < result.usage.cost_usd
    else:
        assert cost.model_usd is None
    stats = [
        line for line in map(json.loads, (zot.cwd / "s.jsonl").read_text().splitlines()) if line["type"] == "stats"
    ]
    assert stats[-1]["extensions"]["echo"]["model_tokens"] == cost.model_tokens
    assert stats[-1]["extensions"]["echo"]["model_usd"] == cost.model_usd
    assert zot.run("report", "s.jsonl", "-o", "r.html").status == 0
    assert f"{cost.model_tokens:,}" in (zot.cwd / "r.html").read_text()
