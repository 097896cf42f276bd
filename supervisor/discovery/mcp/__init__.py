"""MCP servers that files describe: `.mcp.json`, `$ZOT_HOME/mcp.json` and those of `--mcp-config`.

`servers` makes extensions of their entries, `entry_hash` hashes the part of an entry that is trusted. The format is in
`wire.settings.mcp_file`.
"""
