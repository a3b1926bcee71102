"""What the tests of `pawl wal` share: a server that was killed, a copy of its data for each test, and calls."""

import http.client
import json
import shutil
import unittest

MESSAGES = 40


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
