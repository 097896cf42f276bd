"""This checkout and another one by turns: for a change that must not make anything slower."""
