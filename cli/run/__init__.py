"""`zot -p`, `zot --json` and `zot demo`: the flags, the run, and what a person sees of it.

A command line is read by `plain`, or by typer with `command`; the prompt by `stdin`, as `prompt` decides. The run itself
is in `agent.headless`.
"""
