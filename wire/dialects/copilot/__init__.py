"""Extensions of the GitHub Copilot CLI: what their SDK says to its host, as JSON-RPC with `Content-Length` headers.

`session` is the whole conversation. `joining` reads how an extension joins, `tool_results` what its tools return,
`verdicts` asks its hooks and its permission handler, `events` tells it what happens, `rpc` does what it wants.
"""
