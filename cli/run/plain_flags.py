"""The flags of a run by their names, each with its parameter and the kind of its value; and the names
of the sub-commands. Written by docs/generate.py from the definitions; do not edit."""

from __future__ import annotations

FLAGS: dict[str, tuple[str, str | tuple[str, ...]]] = {
    "--json": ("json", "switch"),
    "-p": ("print_", "switch"),
    "--print": ("print_", "switch"),
    "--rpc": ("rpc", "switch"),
    "--provider": ("provider", "text"),
    "-m": ("model", "text"),
    "--model": ("model", "text"),
    "--api-key": ("api_key", "text"),
    "--api-key-file": ("api_key_file", "text"),
    "--base-url": ("base_url", "text"),
    "--system-prompt": ("system_prompt", "text"),
    "--append-system-prompt": ("append_system_prompt", "texts"),
    "--reasoning": ("reasoning", ("low", "medium", "high")),
    "--record": ("record", "text"),
    "--replay": ("replay", "text"),
    "--tools": ("tools", "text"),
    "--no-tools": ("no_tools", "switch"),
    "-e": ("extensions", "texts"),
    "--ext": ("extensions", "texts"),
    "--no-ext": ("no_ext", "switch"),
    "--no-extensions": ("no_ext", "switch"),
    "--ext-wait": ("extension_wait", "wait"),
    "--trust-project": ("trust_project", "switch"),
    "--watch": ("watch", "switch"),
    "--strict-guards": ("strict_guards", "switch"),
    "--stream-before-guards": ("stream_before_guards", "switch"),
    "-C": ("cwd", "text"),
    "--cwd": ("cwd", "text"),
    "--max-steps": ("max_steps", "count"),
    "--timeout": ("timeout", "limit"),
    "--drain-timeout": ("drain_timeout", "wait"),
    "--no-stdin": ("no_stdin", "switch"),
    "--no-session": ("no_session", "switch"),
    "--stats": ("stats", "text"),
    "--metrics": ("metrics", "text"),
    "--openmetrics": ("openmetrics", "switch"),
}
COMMANDS = frozenset(
    {
        "demo",
        "doctor",
        "ext",
        "help",
        "host",
        "ps",
        "report",
        "rpc",
        "schema",
        "stop",
        "top",
    }
)
