"""One prompt: turns, the reply as it arrives, tool calls, slash commands, the system prompt, and the cost. And one
compaction, between prompts.

Before that, `agent.engine` starts the extensions and the model.
"""
