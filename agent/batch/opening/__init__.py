"""A batch on its folder at its start and its end: what is done, interrupted and to be run; its results."""
