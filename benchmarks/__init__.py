"""What the hot paths cost, each figure beside a peer or a floor measured in the same run. See RESULTS.md."""
