"""The cost of one stack of extensions for many runs, beside a stack for each run and a bare relay, and a kill storm."""
