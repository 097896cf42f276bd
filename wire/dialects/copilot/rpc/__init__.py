"""Requests of an extension to its host: `methods` answers them, `table` has those that need the host's agent, and
`params` reads parameters, those of `session.send` among them."""
