"""A task's own copy or worktree of its working folder, what its run has changed there, and its shell commands.

Plain functions, which may take long: they are called in the process of the run, before the run starts and after it has
ended.
"""
