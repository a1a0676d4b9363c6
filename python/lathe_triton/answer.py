"""What a command answers under `--json`: one document on standard output, as docs/json/ has it.

While the command runs, all else that is printed, by a user's program and below Python too, goes to
standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any


class Answer:
    def __init__(self, wanted: bool):
        self.wanted = wanted
        self._document: dict[str, Any] | None = None

    def give(self, document: dict[str, Any]) -> None:
        self._document = document

    def refuse(self, status: int, what: str, remedy: str = "") -> int:
        """Complains, and gives the exit status back."""
        print(f"lathe_triton: {what}" + (f"\nhelp: {remedy}" if remedy else ""), file=sys.stderr)
        error = {"what": what, **({"help": remedy} if remedy else {})}
        self.give({"schema": "lathe/error/1", "exit_status": status, "errors": [error]})
        return status

    def __enter__(self) -> "Answer":
        if self.wanted:
            sys.stdout.flush()
            self._stdout, self._kept = sys.stdout, os.dup(1)
            os.dup2(2, 1)
            sys.stdout = sys.stderr
        return self

    def __exit__(self, *_) -> None:
        if not self.wanted:
            return
        self._stdout.flush()  # Of one who wrote to it past sys.stdout.
        sys.stdout = self._stdout
        os.dup2(self._kept, 1)
        os.close(self._kept)
        if self._document is not None:
            print(json.dumps(self._document), flush=True)


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true",
                        help="one JSON document on standard output, all else on standard error")
