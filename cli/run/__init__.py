"""`zot -p`, `zot --json` and `zot demo`: the flags, the run, and what a person sees of it.

`plain` reads the command line, or typer with `command`; `stdin` reads the prompt as `prompt` decides. The run itself is
in `agent.headless`.
"""
