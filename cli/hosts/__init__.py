"""`zot host`, `ps` and `stop`; and how commands find the hosts that run."""
