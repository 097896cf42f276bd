"""The processes that run the file tools: `main` is the program, `client` the host's side of it."""
