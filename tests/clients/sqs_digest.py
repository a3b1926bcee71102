# SPDX-License-Identifier: Apache-2.0
"""The MD5 digests of SQS responses, implemented from AWS's documentation and not with our code."""

import hashlib
import struct


def md5(text):
    return hashlib.md5(text.encode()).hexdigest()


def md5_of_attributes(attributes):
    """Digests by name: length and text of name and type, 1 or 2, length and bytes of value."""
    digest = hashlib.md5()

    def add(data):
        digest.update(struct.pack(">I", len(data)) + data)

    for name in sorted(attributes):
        attribute = attributes[name]
        add(name.encode())
        add(attribute["DataType"].encode())
        if "BinaryValue" in attribute:
            digest.update(b"\x02")
            add(attribute["BinaryValue"])
        else:
            digest.update(b"\x01")
            add(attribute["StringValue"].encode())
    return digest.hexdigest()
