"""`zot host`, `ps` and `stop`, and finding the hosts that run."""
