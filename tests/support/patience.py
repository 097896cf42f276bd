"""How long a test waits for what is sure to come: only so that one that hangs ends, and says where."""

PATIENCE_S = 120.0
"""Far above what a busy machine takes for a step of a test, and below `timeout` in pyproject.toml. A process that
must not end by itself during a test (a sleeping child, say) takes longer."""
