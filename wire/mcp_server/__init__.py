"""The server's side of MCP, for `zot mcp serve`: a session reads lines of one client, and returns lines and actions for
`supervisor/mcp_server` to carry out. Pure. The client's side is `wire/dialects/mcp`.
"""
