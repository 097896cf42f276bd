"""Finds the extensions that make a recorded run go bad: runs it again and again with a part of them. `search` decides
which part is next, `checks` whether a run was bad, `trial_process` runs one, and `bisect` puts them together. How a run
leaves extensions out and replays is in `agent.trial`.
"""
