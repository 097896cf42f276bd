"""Skills: instructions for one kind of work, in a file, which the model loads when it needs them.

Finds and reads them, says which there are, and judges calls while one with `allowed-tools` is active. The tool itself
is in `agent.tools`.
"""
