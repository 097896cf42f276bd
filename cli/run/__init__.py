"""`zot -p`, `zot --json` and `zot demo`: the flags, the run, and what a person sees of it.

The run itself is in `agent.headless`.
"""
