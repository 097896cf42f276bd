"""The screen: the time from its start to its prompt, and from a key to its echo while others flood."""
