"""The protocols that extensions speak: `base` is the interface of a dialect, `table` lists the dialects, `zot` is zot's
own, `mcp` that of MCP servers, `copilot` that of extensions of the Copilot CLI.

`verdict` is the decision of a guard, `host_calls` the requests of an extension to its host, both in neutral words.
`jsonrpc` reads and writes the messages of `mcp` and `copilot`; `shell_words` divides shell commands. The frames of
zot's protocol are defined in `wire.frames`.
"""
