"""The list on disk: `todos.json` in the data folder, shared by all sessions, never half written."""

import fcntl
import json
import os
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass


@dataclass
class Todo:
    id: int
    text: str
    done: bool = False


class StoreError(Exception):
    """The list cannot be read. The file is not changed."""


class Store:
    def __init__(self, folder):
        self.path = folder / "todos.json"

    def read(self):
        try:
            return [Todo(**entry) for entry in json.loads(self.path.read_text(encoding="utf-8"))]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError) as error:
            raise StoreError(f"{self.path} is not a list of todos; mend or remove it ({error})") from None

    @contextmanager
    def changing(self):
        """Yields the list, to be changed in place, and writes it at the end unless an exception is raised. Meanwhile
        other sessions and threads wait."""
        with open(self.path.with_suffix(".lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            todos = self.read()
            yield todos
            self._write(todos)

    def _write(self, todos):
        """Writes a file beside it, then renames it: readers have the old or the new list, also after a power cut."""
        text = json.dumps([asdict(todo) for todo in todos], ensure_ascii=False, indent=1)
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, suffix=".tmp")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            os.replace(name, self.path)
        except BaseException:
            os.unlink(name)
            raise


def add(todos, text):
    text = " ".join(text.split())
    if not text:
        raise ValueError("a todo needs a text")
    todo = Todo(max((todo.id for todo in todos), default=0) + 1, text)
    todos.append(todo)
    return todo


def find(todos, todo_id):
    for todo in todos:
        if todo.id == todo_id:
            return todo
    raise ValueError(f"there is no todo {todo_id}")
