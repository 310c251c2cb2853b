#!/usr/bin/env python3
"""Prints the translation units of a compile_commands.json that hold the sources named on standard input, one a line: the file
that the compiler is given, which in a unity build includes several sources, a tab, and the compiler's command without launcher,
output and -c. A source that no unit holds is an error."""
import json
import os
import re
import shlex
import sys


def command_of(entry):
    words = shlex.split(entry["command"])
    if os.path.basename(words[0]) == "ccache":
        words = words[1:]
    kept, skip = [], False
    for word in words:
        if skip or word == "-c":
            skip = False
        elif word == "-o":
            skip = True
        else:
            kept.append(word)
    return shlex.join(kept)


def sources_of(unit):
    if f"{os.sep}Unity{os.sep}" not in unit:
        return {unit}
    with open(unit) as file:
        return set(re.findall(r'#include "(.*)"', file.read()))


def main():
    wanted = {os.path.abspath(line.strip()) for line in sys.stdin}
    with open(sys.argv[1]) as file:
        entries = json.load(file)
    missing = set(wanted)
    for entry in entries:
        unit = os.path.join(entry["directory"], entry["file"])
        held = sources_of(unit)
        if held & missing:  # a source that two targets compile is looked at once
            print(f"{unit}\t{command_of(entry)}")
            missing -= held
    for source in sorted(missing):
        print(f"{os.path.relpath(source)} is not built by this preset", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
