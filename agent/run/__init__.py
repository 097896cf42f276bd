"""One prompt: turns, the reply as it arrives, tool calls, slash commands, the system prompt, and the cost.

`agent.runtime` has started the extensions and the model by then.
"""
