"""The faults, by family. Each is a function with the steps of a trial; `table` has all of them in order."""
