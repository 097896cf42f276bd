"""Extensions of the GitHub Copilot CLI: their SDK speaks JSON-RPC with `Content-Length` headers to its host.

`session` is the whole conversation. `join` reads how an extension joins, `tool_results` reads results of its tools,
`verdicts` asks its hooks and its permission handler, `events` sends it events, `rpc` carries out its requests.
"""
