"""`zot models`, `zot login` and `zot logout`: which models there are, and with which key they are asked.

What they work with is in `agent.model` and `agent.providers`.
"""
