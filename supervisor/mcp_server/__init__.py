"""The tools and commands of extensions as one MCP server, for a client on stdio. The session is pure: lines in, lines
and orders out. The server carries the orders out, with the extensions of its own host or of one that runs already.
Guards judge every call before and after it.
"""
