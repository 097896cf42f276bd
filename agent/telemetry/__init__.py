"""Spans of a run of the agent, by the conventions for generative AI."""
