"""The lists of a server, tools and prompts: requests for them, and registration of their elements."""
