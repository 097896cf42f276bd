"""The cost of Copilot extensions under the supervisor, beside a minimal host in Node and the bytes alone."""
