"""A batch before its start: which tasks would run, with which extensions, and what is known of their cost. Asks no
model, and writes nothing in the folder of the batch."""
