#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The last frame of a log at rest: it was acknowledged, so damage to it refuses the startup and is no torn write."""

import http.client
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402
from wal_fixture import KilledServer, call  # noqa: E402

SENDS = 10


def metric(pawl, name):
    connection = http.client.HTTPConnection(pawl.ready["admin"])
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return sum(float(value) for value in re.findall(rf"(?m)^{name}(?:{{[^}}]*}})? (\S+)$", text))


class AtRest(KilledServer):
    @classmethod
    def setUpClass(cls):
        cls.pawl = Pawl(pawl_server.ServedTest.binary, extra=["--shards", "1"]).start()
        url = call(cls.pawl, "CreateQueue", QueueName="a")["QueueUrl"]
        for i in range(SENDS):
            call(cls.pawl, "SendMessage", QueueUrl=url, MessageBody=f"body {i}")
        time.sleep(3)  # as long as an operator might wait; the log needs a tenth of a second
        cls.pawl.kill()

    def refusal(self):
        """Why the server does not start; it fails the test when it does."""
        pawl = Pawl(self.pawl.binary, data=self.data)
        try:
            pawl.start()
        except RuntimeError as error:
            return str(error)
        pawl.kill()
        self.fail(f"it starts with {pawl.ready['recovered_messages']} of {SENDS} messages: {pawl.errors()}")

    def test_one_bit_of_the_last_frame_refuses_the_start(self):
        dump = subprocess.run([self.pawl.binary, "wal", "dump", self.data], capture_output=True, text=True, timeout=60, check=True)
        last = int(re.findall(r"(?m)^(\d+) frame ", dump.stdout)[-1])
        with open(pathlib.Path(self.data) / "s00" / "000000000000.seg", "r+b") as file:
            file.seek(last + 100)
            byte = file.read(1)[0]
            file.seek(last + 100)
            file.write(bytes([byte ^ 1]))
        why = self.refusal()
        self.assertIn("ended with 4", why)
        self.assertIn(f"000000000000.seg offset {last}", why)
        self.assertIn("the manifest says", why)

    def test_all_messages_are_there(self):
        with Pawl(self.pawl.binary, data=self.data) as pawl:
            self.assertEqual(pawl.ready["recovered_messages"], SENDS)


class Flushes(pawl_server.ServedTest):
    """Manifests are written once for each rest, and never while messages come faster than the log comes to rest."""

    def test_a_log_that_is_busy_writes_no_manifest_and_one_at_rest_a_single_one(self):
        url = call(self.pawl, "CreateQueue", QueueName="busy")["QueueUrl"]
        self.rested()
        before = metric(self.pawl, "pawl_wal_manifests_total")
        for i in range(20):
            call(self.pawl, "SendMessage", QueueUrl=url, MessageBody=f"body {i}")
        self.assertLessEqual(metric(self.pawl, "pawl_wal_manifests_total") - before, 3 * self.pawl.ready["shards"])
        self.rested()
        at_rest = metric(self.pawl, "pawl_wal_manifests_total")
        self.assertGreater(at_rest, before)
        time.sleep(1.5)
        self.assertEqual(metric(self.pawl, "pawl_wal_manifests_total"), at_rest)

    def rested(self):
        """Numbers are taken once a second: until they stay the same."""
        last = -1
        for _ in range(20):
            now = metric(self.pawl, "pawl_wal_manifests_total")
            if now == last:
                return
            last = now
            time.sleep(1.2)
        self.fail("the log does not come to rest")


if __name__ == "__main__":
    main()
