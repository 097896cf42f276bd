"""One turn: the request, its reply as it arrives, the guards' verdict on its text, and the tool calls in it.

`agent.run.run` decides whether another turn follows.
"""
