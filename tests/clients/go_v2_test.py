#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's package of AWS's SDK for Go v2: the Query protocol."""

import golang
from client import Bridge
from pawl_server import main
from scenarios import matrix


class GoV2(Bridge):
    command = (str(golang.PLACE / "v2"),)
    has_move_tasks = False  # Debian's version is older than move tasks

    @classmethod
    def install(cls):
        golang.install("v2", "aws-sdk-go-v2")


Unsigned, Signed, Encrypted = matrix(GoV2)

if __name__ == "__main__":
    main()
