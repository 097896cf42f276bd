"""The lists of a server, tools and prompts: when they are asked for, and what of them is registered."""
