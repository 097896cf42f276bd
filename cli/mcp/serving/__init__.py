"""The work of `zot mcp serve`: the client's pipes, and a host of its own or one that runs already."""
