#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""aws-sdk v2 for JavaScript: the JSON protocol, one connection per request."""

import javascript
from client import Bridge
from pawl_server import main
from scenarios import matrix


class JsV2(Bridge):
    command = ("node", str(javascript.PLACE / "v2.mjs"))
    install = javascript.install


Unsigned, Signed, Encrypted = matrix(JsV2)

if __name__ == "__main__":
    main()
