"""One turn: the request, its reply as it arrives, what guards say of its text, and the tool calls in it.

Whether there is another turn, `agent.run.run` decides.
"""
