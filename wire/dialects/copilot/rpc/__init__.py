"""Requests of an extension to its host: `methods` answers them, `table` has the ones that need the host's agent, and
`params` reads parameters, such as those of `session.send`."""
