"""The protocols that extensions speak: `base` is what every dialect can do, `table` names them all, `zot` is
zot's own, `mcp` that of MCP servers, `copilot` that of extensions of the Copilot CLI.

`shell_words` reads commands of a shell, which several of them name. The frames of zot's protocol are defined in
`wire.frames`.
"""
