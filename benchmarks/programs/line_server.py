"""Answers each line on stdin with the lines of a file: `line_server.py FILE`. Each line is one write, as of a program
that sends what it has at once. It knows no JSON."""

import os
import sys


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        lines = file.readlines()
    while sys.stdin.buffer.readline():
        for line in lines:
            os.write(1, line)


if __name__ == "__main__":
    main()
