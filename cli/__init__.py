"""The commands: each parses its flags, calls `agent` or `supervisor`, and renders the answer.

No logic of runs or extensions is here.
"""
