#!/usr/bin/env python3
"""Compares what a fixed set of commands writes with the hashes of what it wrote when they were recorded.

    python3 tests/recorded/recorded.py [--program build/release/bin/vtrain]

A change that should not change behaviour leaves every hash as it is. The outputs themselves are not kept: to see a
difference, run the old and the new program with `--keep DIR` and compare the two folders. `--update` writes the hashes
anew after a change that is meant. Wall-clock times, `run.json` and the program's version are masked. Commands that need
third-party data are skipped where `../shared` is absent.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from commands import NORMALISED, SETUP, commands  # noqa: E402  (the list beside this file)

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
HASHES = HERE / "hashes.json"
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

TIME = rb"[0-9.,]+ (?:ns|us|ms|s|min?|h|d)(?: [0-9]+ (?:s|min?|h))?"
MASKS = [
    (re.compile(rb'"(wall_s|read_s|write_s|simulation_wall_s)": ?[-+0-9.e]+'), rb'"\1": TIME'),
    (re.compile(rb"(replayed [^\n]*? in|searched in|read in|written in|(?:jobs|events?|plans|models|fit[^\n]*) in) " + TIME), rb"\1 TIME"),
    (re.compile(rb"vtrain [0-9]+\.[0-9]+\.[0-9]+"), rb"vtrain VERSION"),
    (re.compile(rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"), rb"DATE"),
]


def masked(data):
    for pattern, replacement in MASKS:
        data = pattern.sub(replacement, data)
    return data


def files_below(folder):
    """Every file that a command wrote, by its path, but for `run.json`, which holds what varies from run to run."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.name != "run.json")


class Runner:
    def __init__(self, program, normalise, folder, keep):
        self.program, self.normalise, self.folder, self.keep = program, normalise, folder, keep

    def prepare(self):
        """Links the inputs into the working folder and generates the traces that the commands read."""
        os.makedirs(self.folder, exist_ok=True)
        for name, target in (("shared", PROJECT.parent / "shared"), ("project", PROJECT)):
            if target.exists():
                os.symlink(target, self.folder / name)
        raw = {name: file for name, file in NORMALISED.items() if (self.folder / file).exists()}
        for command in SETUP + [f"normalise {file} --out {name}" for name, file in raw.items()]:
            result = self.call(command, self.folder)
            if result.returncode:
                sys.exit(f"{command}: exit code {result.returncode}: {result.stderr.decode()}")

    def call(self, command, folder):
        environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), NO_COLOR="1", COLUMNS="120", TZ="UTC", LC_ALL="C.UTF-8")
        words = shlex.split(command)
        command = [self.normalise, *words[1:]] if words[0] == "normalise" else [self.program, *words]
        return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True)

    def hash(self, command):
        """The hash of everything that a command says and writes."""
        name = hashlib.sha256(command.encode()).hexdigest()[:16]
        out = self.folder / "out" / name
        os.makedirs(out)
        for entry in self.folder.iterdir():
            if entry.name not in ("out", "cache"):
                os.symlink(entry, out / entry.name)
        result = self.call(command, out)
        parts = {"exit": str(result.returncode).encode(), "stdout": result.stdout, "stderr": result.stderr}
        for path in files_below(out):
            parts[f"file {path.relative_to(out)}"] = path.read_bytes()
        digest = hashlib.sha256()
        for part, data in parts.items():
            data = masked(data)
            digest.update(f"{part} {len(data)}\n".encode() + data)
            if self.keep:
                kept = self.keep / name / part.replace("file ", "files/")
                os.makedirs(kept.parent, exist_ok=True)
                kept.write_bytes(data)
        if self.keep:
            (self.keep / name / "command").write_text(command + "\n")
        shutil.rmtree(out)
        return digest.hexdigest()[:32]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=next((p for p in ("build/release/bin/vtrain", "build/dev/bin/vtrain") if (PROJECT / p).exists()), None))
    parser.add_argument("--normalise", help="the program `normalise` (default: that beside the program)")
    parser.add_argument("--update", action="store_true", help="write the hashes of this program")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the masked outputs in this folder")
    parser.add_argument("--only", default="", metavar="REGEX", help="only the commands that match")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="commands at once")
    arguments = parser.parse_args()
    if not arguments.program or not (PROJECT / arguments.program).exists():
        sys.exit("no program: build one, or name it with --program")
    program = str((PROJECT / arguments.program).resolve())
    normalise = (PROJECT / arguments.normalise).resolve() if arguments.normalise else pathlib.Path(program).with_name("normalise")
    if not normalise.exists():
        sys.exit(f"{normalise} is absent: build the target normalise, or name the program with --normalise")

    shared = (PROJECT.parent / "shared").exists()
    chosen = [c for c in commands() if (shared or not re.search("shared[/_]", c)) and re.search(arguments.only, c)]
    assert len(chosen) == len(set(chosen)), "a command stands twice in the list"
    skipped = len(commands()) - len(chosen) if not arguments.only else 0
    with tempfile.TemporaryDirectory() as temporary:
        runner = Runner(program, str(normalise), pathlib.Path(temporary) / "work", arguments.keep)
        runner.prepare()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            found = dict(zip(chosen, pool.map(runner.hash, chosen)))

    recorded = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    if arguments.update:
        known = set(commands())
        HASHES.write_text(json.dumps({**{c: h for c, h in recorded.items() if c in known}, **found}, indent=0, sort_keys=True) + "\n")
        print(f"{len(found)} outputs recorded")
        return 0
    different = [c for c in chosen if found[c] != recorded.get(c)]
    for command in different:
        print(f"{'differs' if command in recorded else 'not recorded'}: {command}")
    print(f"{len(chosen) - len(different)} of {len(chosen)} outputs are as recorded" + (f"; {skipped} skipped: ../shared is absent" if skipped else ""))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
