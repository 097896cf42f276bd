"""`zot models`, `zot login` and `zot logout`: which models there are, and with which key they are asked.

The data and the requests are in `agent.model` and `agent.providers`.
"""
