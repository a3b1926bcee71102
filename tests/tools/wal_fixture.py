# SPDX-License-Identifier: Apache-2.0
"""What the tests of `pawl wal` share: a server that was killed, a copy of its data for each test, and calls."""

import ctypes
import http.client
import json
import os
import pathlib
import shutil
import struct
import tempfile
import unittest

import pawl_server

MESSAGES = 40


def new_data(segment_bytes, shards):
    """A data directory whose segments are smaller than those that the server makes: the file PAWL (net/server/data_dir.cc)."""
    data = tempfile.mkdtemp(prefix="pawl-test-", dir=pawl_server.scratch())
    xxhash = ctypes.CDLL("libxxhash.so.0")
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    identity = struct.pack("<8sIIQ", b"PAWLDATA", 1, shards, segment_bytes) + os.urandom(8 + 192)
    checksum = xxhash.XXH3_64bits(identity, ctypes.c_size_t(len(identity)))
    (pathlib.Path(data) / "PAWL").write_bytes((identity + struct.pack("<Q", checksum)).ljust(4096, b"\0"))
    return data


class KilledServer(unittest.TestCase):
    """`pawl` is a killed server, made by setUpClass; each test gets a copy of its data."""

    @classmethod
    def tearDownClass(cls):
        cls.pawl.remove_data()

    def setUp(self):
        self.data = self.pawl.data + "-copy"
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        self.copy()

    def copy(self):
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.pawl.data, self.data)


def call(server, action, **request):
    connection = http.client.HTTPConnection(server.ready["http"])
    connection.request("POST", "/", json.dumps(request), {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
    answer = json.loads(connection.getresponse().read() or "{}")
    connection.close()
    return answer
