"""One prompt: turns, the reply as it arrives, slash commands, the system prompt, and what it cost.

Starting processes and choosing the model happen before, in `agent.runtime`.
"""
