"""The protocols that extensions speak: `base` is what every dialect can do, `table` names them all, `zot` is zot's own,
`mcp` that of MCP servers, `copilot` that of extensions of the Copilot CLI.

`verdict` is what a guard wants, in no protocol's words; `host_calls` what an extension wants of its host. `jsonrpc`
reads and writes the messages of `mcp` and `copilot`, and `shell_words` commands of a shell, which several of them name.
The frames of zot's protocol are defined in `wire.frames`.
"""
