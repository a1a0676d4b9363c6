"""`python -m lathe_triton COMMAND`: goes on inside Triton's environment where one is needed."""

from __future__ import annotations

import sys

from . import autotune, capture, environment, export, integers, run, sources
from .answer import Answer

# These need no environment of ours; capture and run work inside the user's own program.
HOSTED = {"autotune": autotune, "capture": capture, "integers": integers, "run": run}

USAGE = """usage: python -m lathe_triton COMMAND ..

  export    contracts from sources: the suite's, or your own FILE.py[:KERNEL]
  capture   contracts of a whole program's kernels, as it runs
  run       a program with winners in place of its own kernels
  autotune  the fastest correct configuration of each kernel, on a GPU
  integers  random integer kernels that compute nothing known

python -m lathe_triton COMMAND --help says the rest."""


def main() -> int:
    arguments = sys.argv[1:]
    if arguments and arguments[0] in HOSTED:
        command = HOSTED[arguments[0]]
        return command.run(command.parser().parse_args(arguments[1:]))
    if arguments and arguments[0] in ("--help", "-h"):
        print(USAGE)
        return 0
    if not arguments or arguments[0] != "export":
        wanted = "no command" if not arguments else f"unknown command {arguments[0]!r}"
        print(f"lathe_triton: {wanted}\nhelp: python -m lathe_triton --help lists them",
              file=sys.stderr)
        return 64
    parsed = export.parser().parse_args(arguments[1:])
    if missing := sources.missing(parsed.sources):
        with Answer(parsed.json) as answer:
            return answer.refuse(74, f"there is no file {missing}", "name FILE.py[:KERNEL]")
    environment.enter(arguments, own=not parsed.installed, version=parsed.triton)
    return export.run(parsed)


if __name__ == "__main__":
    sys.exit(main())
