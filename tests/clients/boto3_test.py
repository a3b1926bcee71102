#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's boto3: the Query protocol, answered in XML."""

from client import Bridge, NotHere, first_here
from pawl_server import HERE, main
from scenarios import matrix


class Boto3(Bridge):
    command = ("/usr/bin/python3", str(HERE / "boto3_bridge.py"))
    has_move_tasks = False  # version 1.26 is older than move tasks

    @classmethod
    def install(cls):
        if not first_here([("/usr/bin/python3", "-c", "import boto3")]):
            raise NotHere("Debian's python3-boto3 is not installed")


Unsigned, Signed, Encrypted = matrix(Boto3)

if __name__ == "__main__":
    main()
