"""One prompt: turns, the reply as it arrives, tool calls, slash commands, the system prompt, and the cost. And
compactions, between prompts and between turns.

Before that, `agent.engine` starts the extensions and the model.
"""
