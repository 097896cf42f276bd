"""The connection to engines and hosts: a thread that owns the pipes, requests and answers, and the command line of an
engine. Programs use the classes above it: `Runtime`, `AsyncRuntime`, `Host`, `AsyncHost`."""
