"""Final texts that programs read: the JSON Schema that they must fit, and how the model is told of one that does not.
It knows nothing of turns: `agent.run` decides when a text is final, and asks once more."""
