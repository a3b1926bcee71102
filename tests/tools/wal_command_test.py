#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl wal` on logs that a killed server left, whole and damaged; and what `pawl serve` says to them."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402
from wal_fixture import MESSAGES, KilledServer, call  # noqa: E402

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "upgrade"


class OlderLogs(unittest.TestCase):
    """Logs of every format version; in the newest, messages were relocated since its checkpoint."""

    def wal(self, action, log):
        return subprocess.run([pawl_server.ServedTest.binary, "wal", action, log], capture_output=True, text=True, timeout=60, check=False)

    def test_they_are_sound(self):
        logs = sorted(FIXTURES.glob("v*"))
        self.assertGreaterEqual(len(logs), 3)
        for log in logs:
            with self.subTest(log=log.name):
                verified = self.wal("verify", log)
                self.assertEqual(verified.returncode, 0, verified)

    def test_relocated_messages_and_segments_are_printed(self):
        dump = self.wal("dump", FIXTURES / "v3").stdout
        self.assertRegex(dump, r"(?m)^  send +queue 2 seq \d+ .* relocated$")
        self.assertRegex(dump, r"(?m)^  segment \d+ sends \d+ bytes \d+$")


class WalCommand(KilledServer):
    @classmethod
    def setUpClass(cls):
        """One queue with 40 messages, each in a frame of its own; then kill -9."""
        cls.pawl = Pawl(pawl_server.ServedTest.binary, extra=["--shards", "1"]).start()
        url = call(cls.pawl, "CreateQueue", QueueName="a")["QueueUrl"]
        for i in range(MESSAGES):
            call(cls.pawl, "SendMessage", QueueUrl=url, MessageBody=f"body {i} " + "x" * 500)
        cls.pawl.kill()

    def wal(self, action):
        return subprocess.run([self.pawl.binary, "wal", action, self.data], capture_output=True, text=True, timeout=60, check=False)

    def segment(self):
        return pathlib.Path(self.data) / "s00" / "000000000000.seg"

    def frames(self):
        return [int(lsn) for lsn in re.findall(r"^(\d+) frame ", self.wal("dump").stdout, re.M)]

    def overwrite(self, offset, data):
        with open(self.segment(), "r+b") as file:
            file.seek(offset)
            file.write(data)

    def test_a_log_cut_by_kill_is_sound_and_every_record_is_printed(self):
        verified = self.wal("verify")
        self.assertEqual(verified.returncode, 0, verified)
        self.assertIn(": sound: ", verified.stdout)
        dump = self.wal("dump").stdout
        self.assertEqual(len(re.findall(r"^  send +queue 1 seq \d+ body 50[78] B", dump, re.M)), MESSAGES, dump)
        self.assertEqual(len(re.findall(r"^  config +queue 1 a$", dump, re.M)), 1)

    def test_a_flipped_bit_in_what_was_acknowledged_is_damage_with_its_place(self):
        at = self.frames()[20]
        content = self.segment().read_bytes()
        self.overwrite(at + 300, bytes([content[at + 300] ^ 4]))
        verified = self.wal("verify")
        self.assertEqual(verified.returncode, 4, verified)
        self.assertIn(f"000000000000.seg at byte {at} ", verified.stderr)
        self.assertIn("checksum", verified.stderr)

    def test_a_zeroed_frame_in_the_middle_is_damage_but_the_very_last_one_is_a_tail(self):
        frames = self.frames()
        self.overwrite(frames[-1], bytes(4096))
        self.assertEqual(self.wal("verify").returncode, 0)
        self.overwrite(frames[-3], bytes(4096))
        verified = self.wal("verify")
        self.assertEqual(verified.returncode, 4, verified)
        self.assertIn(f"at byte {frames[-3]} ", verified.stderr)

    def test_a_torn_last_frame_is_a_torn_tail(self):
        self.overwrite(self.frames()[-1] + 256, bytes(1024))
        verified = self.wal("verify")
        self.assertEqual(verified.returncode, 0, verified)
        self.assertIn("a torn tail follows", verified.stdout)

    def test_the_server_refuses_a_damaged_log_and_names_the_place(self):
        at = self.frames()[20]
        self.overwrite(at + 300, b"\xff\x00\xff\x00")
        done = subprocess.run([self.pawl.binary, "serve", "--data", self.data, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                               "--binary", "127.0.0.1:0"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertIn("000000000000.seg", done.stderr)

    def test_without_manifests_and_without_a_whole_one_it_is_damage(self):
        shard = pathlib.Path(self.data) / "s00"
        for name in ("MANIFEST.a", "MANIFEST.b"):
            (shard / name).write_bytes(bytes(4096))
        self.assertEqual(self.wal("verify").returncode, 4)
        for name in ("MANIFEST.a", "MANIFEST.b"):
            (shard / name).unlink()
        done = self.wal("verify")
        self.assertEqual(done.returncode, 4)
        self.assertIn("MANIFEST.a and MANIFEST.b are both missing", done.stderr)


class WalCommandOnCheckpoints(unittest.TestCase):
    """On a log with a checkpoint, older segments and gaps between them: tests/upgrade/v2, with segments of 64 KiB."""

    SEGMENT = 64 << 10

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="pawl-wal-")
        self.addCleanup(shutil.rmtree, self.data)
        shutil.copytree(FIXTURES / "v2", self.data, dirs_exist_ok=True)

    def wal(self, action):
        return subprocess.run([pawl_server.ServedTest.binary, "wal", action, self.data], capture_output=True, text=True, timeout=60,
                              check=False)

    def segment(self, number):
        return pathlib.Path(self.data) / f"{number:012}.seg"

    def segments(self):
        return sorted(int(path.stem) for path in pathlib.Path(self.data).glob("*.seg"))

    def dump(self):
        """Where frames begin, and where the checkpoint begins and ends."""
        dump = self.wal("dump").stdout
        frames = [int(lsn) for lsn in re.findall(r"^(\d+) frame ", dump, re.M)]
        (begin,) = re.findall(r"^(\d+) checkpoint: recovery begins here$", dump, re.M)
        (end,) = re.findall(r"^(\d+) checkpoint ends$", dump, re.M)
        return frames, int(begin), int(end)

    def flip(self, lsn):
        with open(self.segment(lsn // self.SEGMENT), "r+b") as file:
            file.seek(lsn % self.SEGMENT)
            byte = file.read(1)[0]
            file.seek(lsn % self.SEGMENT)
            file.write(bytes([byte ^ 4]))

    def assert_damage(self, *said):
        verified = self.wal("verify")
        self.assertEqual(verified.returncode, 4, verified)
        self.assertIn(": damaged: ", verified.stdout)
        for text in said:
            self.assertIn(text, verified.stderr)

    def test_a_log_with_gaps_is_sound_and_the_checkpoint_has_its_place_in_the_dump(self):
        verified = self.wal("verify")
        self.assertEqual((verified.returncode, verified.stderr), (0, ""))
        numbers = self.segments()
        self.assertGreater(numbers[-1] + 1 - numbers[0], len(numbers), "there is no gap")
        frames, begin, end = self.dump()
        self.assertEqual(frames, sorted(frames))
        self.assertIn(begin, frames)
        self.assertTrue(frames[0] // self.SEGMENT < begin // self.SEGMENT and begin < end < frames[-1])

    def test_an_older_segment_that_holds_messages_and_is_missing_is_damage(self):
        _, begin, _ = self.dump()
        older = [number for number in self.segments() if number < begin // self.SEGMENT]
        for number in older:
            content = self.segment(number).read_bytes()
            self.segment(number).unlink()
            self.assert_damage(f"{number:012}.seg is missing or damaged: ")
            self.segment(number).write_bytes(content)
        self.assertGreaterEqual(len(older), 2)
        self.assertEqual(self.wal("verify").returncode, 0)

    def test_a_flipped_bit_is_damage_wherever_it_lies(self):
        frames, begin, end = self.dump()
        where = [max(frame for frame in frames if frame < end)]  # in the checkpoint
        where += [frame for frame in frames if frame < begin]
        for frame in where:
            for at in (frame, frame + 70):
                self.flip(at)
                self.assert_damage(f"{frame // self.SEGMENT:012}.seg ")
                self.flip(at)
        self.flip(where[1] + 70)
        self.assert_damage(f"at byte {where[1] % self.SEGMENT} ", "checksum")


if __name__ == "__main__":
    main()
