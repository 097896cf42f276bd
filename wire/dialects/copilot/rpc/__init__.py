"""What an extension asks of its host: `methods` answers it, `table` has what needs the host's agent, and `params` reads
parameters, those of `session.send` among them."""
