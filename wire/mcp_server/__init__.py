"""The side of an MCP server, for `zot mcp serve`: a session takes lines of one client, and returns lines and actions,
which `supervisor/mcp_server` carries out. Pure. The side of a client is `wire/dialects/mcp`.
"""
