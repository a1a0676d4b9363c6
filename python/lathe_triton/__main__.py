"""`python -m lathe_triton COMMAND`: goes on inside Triton's environment where one is needed."""

from __future__ import annotations

import sys

from . import autotune, capture, environment, export, integers, run

# These need no environment of ours; capture and run work inside the user's own program.
HOSTED = {"autotune": autotune, "capture": capture, "integers": integers, "run": run}


def main() -> int:
    arguments = sys.argv[1:]
    if arguments and arguments[0] in HOSTED:
        command = HOSTED[arguments[0]]
        return command.run(command.parser().parse_args(arguments[1:]))
    if not arguments or arguments[0] != "export":
        wanted = "no command" if not arguments else f"unknown command {arguments[0]!r}"
        print(f"lathe_triton: {wanted}\nhelp: python -m lathe_triton export --help (or autotune, "
              "capture, run, integers)", file=sys.stderr)
        return 64
    parsed = export.parser().parse_args(arguments[1:])
    environment.enter(arguments, own=not parsed.installed, version=parsed.triton)
    return export.run(parsed)


if __name__ == "__main__":
    sys.exit(main())
