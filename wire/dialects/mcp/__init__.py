"""MCP, the Model Context Protocol: the client's side, for servers of tools and prompts on stdio."""
