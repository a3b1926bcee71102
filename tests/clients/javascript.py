# SPDX-License-Identifier: Apache-2.0
"""Installs the packages of js/package-lock.json: AWS's SDKs v3 and v2, sqs-consumer, sqs-producer."""

import fcntl
import hashlib
import shutil
import subprocess

from client import NotHere
from pawl_server import HERE, ROOT

SOURCE = HERE / "js"
PLACE = ROOT / "build" / "clients" / "js"
NODE_MIN = 20  # required by the packages


def install():
    """Runs npm ci below build/, unless the installed packages are from the same lock file."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise NotHere("node and npm are not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_MIN:
        raise NotHere(f"the pinned packages need node {NODE_MIN}, this is {version}")
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several tests may begin at once
        stamp = PLACE / ".installed"
        wanted = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(SOURCE / name, PLACE / name)
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PLACE,
                                  capture_output=True, text=True, timeout=300, check=False)
            if done.returncode:
                raise NotHere("npm cannot fetch the pinned packages: " + done.stderr[-300:])
            stamp.write_text(wanted)
        for script in SOURCE.glob("*.mjs"):
            shutil.copy(script, PLACE / script.name)
