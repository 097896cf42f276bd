"""The server's side of MCP, for `zot mcp serve`: a session takes lines of one client, and returns lines and actions,
which `supervisor/mcp_server` carries out. Pure. The client's side is `wire/dialects/mcp`.
"""
