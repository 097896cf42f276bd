"""`zot report`: one page that shows what a run used and what happened in it."""
