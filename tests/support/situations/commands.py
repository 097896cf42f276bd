"""Situations that are one command, in a home and a folder without anything."""

from __future__ import annotations

from tests.support.situations.stage import Stage, situations


def run(stage: Stage, needed: str) -> str:
    return stage.zot.run(*needed.split()).stderr


situations(
    run,
    {
        "zot: no such command: 'hello'. To send a prompt, use -p or --json": "hello",
        "zot: no prompt: …": "-p",
        "zot: no credential for …: run zot login, set ANTHROPIC_API_KEY or …": "-p hi",
        "zot: --replay: cannot read cassette …": "-p --replay nothing.jsonl hi",
        "zot: anthropic: connection to … failed: …": "-p --base-url http://127.0.0.1:9 --api-key k hi",
        "zot: --max-cost-usd: the price of the model … is unknown, …": "-p --max-cost-usd 1 -m llama-99b hi",
        "zot: no such command: '/nope'; …": "-p /nope",
        "… is not a length of time: write seconds (30, 1.5) or numbers with units …": "-p --timeout 5x hi",
        "no host is running; start one with zot host": "top --once",
        "zot mcp serve: no zot host runs in …; start one there: zot host": "mcp serve --host .",
        "zot: rpc takes no prompt: …": "rpc hello",
        "zot session …: there is no session '…'; zot session list --all names all": "session show 3a3e",
        "zot ext install: …: no extension.json in it": "ext install .",
    },
)
