"""The commands parse their flags, call `agent` or `supervisor`, and render the answer. The logic is there, not here."""
