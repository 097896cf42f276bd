"""The report of a batch: one page about all of its tasks, and a page for each of many tasks.

`reading` folds the journal into `figures`; `workload`, `reasons` and `chosen` are pure; `conversation` reads the events
of one attempt. `sections`, `charts`, `page` and `task_page` write HTML, and `make` puts it on the disk.
"""
