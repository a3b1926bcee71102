#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Debian packages of the current commit in two folders and compares their bytes.

    tests/package/two_builds.py

Prints `N packages, N differ`.
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(folder):
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, folder / "pawl"], check=True)
    subprocess.run([folder / "pawl/tools/package", "--out", folder / "out"], check=True, stdout=subprocess.DEVNULL)
    return {package.name: package.read_bytes() for package in (folder / "out").iterdir()}


def main():
    with tempfile.TemporaryDirectory(prefix="pawl-one-") as one, tempfile.TemporaryDirectory(prefix="pawl-another-") as other:
        first, second = build(pathlib.Path(one)), build(pathlib.Path(other, "deeper"))
    differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    for name in differing:
        print(f"differs: {name}")
    print(f"{len(first)} packages, {len(differing)} differ")
    return 1 if differing or not first else 0


if __name__ == "__main__":
    sys.exit(main())
