"""The tools and commands of extensions as one MCP server, for a client on stdio. The server carries out the actions of
the session in `wire/mcp_server`, with the extensions of its own host or of a running host. Guards judge every call
before and after it.
"""
