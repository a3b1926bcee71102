#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""@aws-sdk/client-sqs v3: the JSON protocol. The SDK verifies the MD5 of every body."""

import javascript
from client import Bridge
from pawl_server import main
from scenarios import matrix


class JsV3(Bridge):
    command = ("node", str(javascript.PLACE / "v3.mjs"))
    shows_shapes = True
    install = javascript.install


Unsigned, Signed, Encrypted = matrix(JsV3)

if __name__ == "__main__":
    main()
