"""Measures the cost of the hot paths. Each value stands beside a peer or a floor from the same run. See RESULTS.md."""
