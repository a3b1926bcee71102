#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's AWS command line: the Query protocol, one process per request."""

import subprocess

from awscli_command import answer_of, arguments_of
from client import CALL_SECONDS, Bridge, Client, NotHere, Refused, decoded, encoded, first_here
from pawl_server import HERE, main
from scenarios import matrix

AWS = "/usr/bin/aws"  # Debian's; PATH may find another one first


class AwsCli(Bridge):
    """Runs the command's main function."""

    command = ("/usr/bin/python3", str(HERE / "awscli_bridge.py"))
    has_move_tasks = False  # version 2.9 is older than move tasks

    @classmethod
    def install(cls):
        if not first_here([(AWS, "--version")]):
            raise NotHere("Debian's awscli is not installed")


class AwsProgram(Client):
    """Runs the program as a shell does; each call takes half a second."""

    install = AwsCli.install

    def call(self, op, **members):
        words = arguments_of(self.environment["PAWL_ENDPOINT"], op, encoded(members))
        done = subprocess.run([AWS, *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=CALL_SECONDS, check=False)
        got = answer_of(done.returncode, done.stdout, done.stderr)
        if "error" in got:
            raise Refused(**got["error"])
        return decoded(got["out"])


Unsigned, Signed, _ = matrix(AwsCli)
_, _, Encrypted = matrix(AwsProgram)
del _

if __name__ == "__main__":
    main()
