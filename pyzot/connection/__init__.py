"""How this package talks to engines and hosts: a thread that owns the pipes, requests and their answers, and the
command line of an engine. What a program uses is a floor above: `Runtime`, `AsyncRuntime`, `Host`, `AsyncHost`."""
