"""Changes of a running batch from outside: its limits, signals, and the requests of `zot batch ctl`."""
