"""MCP, the Model Context Protocol: what servers of tools and prompts say on stdio."""
