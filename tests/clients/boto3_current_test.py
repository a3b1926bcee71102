#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""boto3 with the JSON protocol: that of `python3` in PATH, or one installed below build/ with pip."""

import shutil
import sys

from client import Bridge, NotHere, first_here
from pawl_server import HERE, ROOT, main
from scenarios import matrix

VERSION = "1.43.11"
PLACE = ROOT / "build" / "clients" / "boto3"
SPEAKS_JSON = "import botocore.loaders as l; assert 'json' in l.Loader().load_service_model('sqs','service-2')['metadata']['protocol']"


class Boto3Current(Bridge):
    @classmethod
    def install(cls):
        installed = str(PLACE / "bin" / "python3")
        pythons = [python for python in (shutil.which("python3"), installed) if python]
        found = first_here([(python, "-c", SPEAKS_JSON) for python in pythons])
        if not found and pip_installs():
            found = first_here([(installed, "-c", SPEAKS_JSON)])
        if not found:
            raise NotHere(f"no boto3 that speaks JSON, and pip cannot fetch boto3=={VERSION}")
        cls.command = (found[0], str(HERE / "boto3_bridge.py"))


def pip_installs():
    """True if pip installs boto3; timeouts are short because pip retries long without its index."""
    python = str(PLACE / "bin" / "python3")
    pip = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "10", f"boto3=={VERSION}"]
    return all(first_here([command]) for command in ([sys.executable, "-m", "venv", str(PLACE)], pip))


Unsigned, Signed, Encrypted = matrix(Boto3Current)

if __name__ == "__main__":
    main()
