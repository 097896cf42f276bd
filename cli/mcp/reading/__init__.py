"""What the two files of MCP servers say: their entries, what a run would do with each, and what is not shown of it.

The format is in `wire.settings.mcp_file`; changes are made by `cli.mcp.file_edit`.
"""
