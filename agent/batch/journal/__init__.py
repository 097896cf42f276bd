"""The journal of a batch and the folder that it lies in: what is done, safe on the disk, and read again after any end.

`writer` appends, `reader` reads, `state` folds lines into what is done and what is to run, and `checkpoint` keeps that
for the next start. `folder` knows the files of RUNDIR, `rundir_files` opens all of them, `shards` reads results, and
`formats` shows them. Nothing here starts a run.
"""
