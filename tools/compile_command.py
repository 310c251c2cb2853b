#!/usr/bin/env python3
"""Prints the compiler command of one source file from a compile_commands.json, without launcher, output and -c."""
import json
import os
import shlex
import sys


def main():
    database, wanted = sys.argv[1], os.path.abspath(sys.argv[2])
    with open(database) as file:
        entries = json.load(file)
    for entry in entries:
        if os.path.join(entry["directory"], entry["file"]) != wanted:
            continue
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
        print(shlex.join(kept))
        return 0
    print(f"{sys.argv[2]} is not built by this preset", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
