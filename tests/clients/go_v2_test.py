#!/usr/bin/python3
"""AWS's SDK for Go v2, of Debian: the Query protocol."""

import golang
from client import Bridge
from pawl_server import main
from scenarios import matrix


class GoV2(Bridge):
    command = (str(golang.PLACE / "v2"),)
    has_move_tasks = False  # Debian's is older than they are

    @classmethod
    def install(cls):
        golang.install("v2", "aws-sdk-go-v2")


Unsigned, Signed, Encrypted = matrix(GoV2)

if __name__ == "__main__":
    main()
