"""The pool of runs: the processes of the runs, what each may use, and the model workers that are lent to them."""
