"""The cost of MCP servers under the supervisor, beside the official client of Python and beside zot's own protocol."""
