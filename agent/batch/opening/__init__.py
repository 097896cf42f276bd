"""The start of a batch on its folder: what is done, what is interrupted, what is to be run."""
