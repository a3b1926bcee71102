#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's package of AWS's SDK for Go v1: the Query protocol."""

import golang
from client import Bridge
from pawl_server import main
from scenarios import matrix


class GoV1(Bridge):
    command = (str(golang.PLACE / "v1"),)
    has_move_tasks = False  # Debian's version is older than move tasks

    @classmethod
    def install(cls):
        golang.install("v1", "aws-sdk-go")


Unsigned, Signed, Encrypted = matrix(GoV1)

if __name__ == "__main__":
    main()
