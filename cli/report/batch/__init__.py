"""The report of a batch: one page about all of its tasks, and a page for each of many tasks.

`journal_reader` folds the journal into `figures`; `workload`, `reasons` and `selection` are pure; `conversation` reads
the events of one attempt. `overview`, `distributions`, `tables`, `page` and `task_page` write HTML, `pages` the files.
"""
