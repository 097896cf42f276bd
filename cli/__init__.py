"""The commands: parse, call, render. No logic of their own; what they call is in `agent` and `supervisor`."""
