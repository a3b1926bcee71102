#!/usr/bin/python3
"""Runs js/sqs_test.mjs with AWS's SDK for JavaScript, installed below build/, against pawl."""

import hashlib
import pathlib
import shutil
import subprocess
import sys

from pawl_server import ROOT, Pawl

HERE = pathlib.Path(__file__).resolve().parent / "js"
PLACE = ROOT / "build" / "clients" / "js"


def install():
    """npm ci, unless what is there was made from the same lock file."""
    lock = (HERE / "package-lock.json").read_bytes()
    stamp = PLACE / ".installed"
    wanted = hashlib.sha256(lock).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        PLACE.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, PLACE / name)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PLACE, check=True)
        stamp.write_text(wanted)
    shutil.copy(HERE / "sqs_test.mjs", PLACE / "sqs_test.mjs")


def main():
    install()
    with Pawl(sys.argv[1]) as pawl:
        return subprocess.run(["node", PLACE / "sqs_test.mjs", pawl.url], timeout=300, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
