"""The terminal: draws with prompt_toolkit, and reads keys."""
