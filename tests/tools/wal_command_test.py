#!/usr/bin/python3
"""`pawl wal` on logs that a killed server left, whole and damaged; and what `pawl serve` says to them."""

import ctypes
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402

MESSAGES = 40
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


class WalCommand(KilledServer):
    @classmethod
    def setUpClass(cls):
        """One queue with 40 messages, each in a frame of its own; then kill -9."""
        cls.pawl = Pawl(pawl_server.ServedTest.binary, extra=["--shards", "1"]).start()
        connection = http.client.HTTPConnection(cls.pawl.ready["http"])

        def call(action, **request):
            connection.request("POST", "/", json.dumps(request), {
                "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
            return json.loads(connection.getresponse().read())

        url = call("CreateQueue", QueueName="a")["QueueUrl"]
        for i in range(MESSAGES):
            call("SendMessage", QueueUrl=url, MessageBody=f"body {i} " + "x" * 500)
        connection.close()
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
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("000000000000.seg", done.stderr)

    def test_without_manifests_there_is_no_log_and_without_a_whole_one_it_is_damage(self):
        shard = pathlib.Path(self.data) / "s00"
        for name in ("MANIFEST.a", "MANIFEST.b"):
            (shard / name).write_bytes(bytes(4096))
        self.assertEqual(self.wal("verify").returncode, 4)
        for name in ("MANIFEST.a", "MANIFEST.b"):
            (shard / name).unlink()
        self.assertEqual(self.wal("verify").returncode, 3)


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
        (begin,) = re.findall(r"^(\d+) checkpoint: a start reads from here$", dump, re.M)
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


def new_data(segment_bytes, shards):
    """A data directory whose segments are smaller than those that the server makes: the file PAWL (net/data_dir.cc)."""
    data = tempfile.mkdtemp(prefix="pawl-test-", dir=pawl_server.scratch())
    xxhash = ctypes.CDLL("libxxhash.so.0")
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    identity = struct.pack("<8sIIQ", b"PAWLDATA", 1, shards, segment_bytes) + os.urandom(8 + 192)
    checksum = xxhash.XXH3_64bits(identity, ctypes.c_size_t(len(identity)))
    (pathlib.Path(data) / "PAWL").write_bytes((identity + struct.pack("<Q", checksum)).ljust(4096, b"\0"))
    return data


class Repair(KilledServer):
    """Tools of the tests of `pawl wal repair`."""

    segment_bytes = 4 << 20
    shards = 1

    @classmethod
    def setUpClass(cls):
        cls.pawl = Pawl(pawl_server.ServedTest.binary, data=new_data(cls.segment_bytes, cls.shards)).start()
        cls.fill()
        cls.pawl.kill()

    def run_pawl(self, *words):
        return subprocess.run([self.pawl.binary, *words], capture_output=True, text=True, timeout=60, check=False)

    def frames(self):
        """Where each frame begins, and the numbers of the messages that are sent in it."""
        found = []
        for line in self.run_pawl("wal", "dump", self.data).stdout.splitlines():
            if frame := re.match(r"(\d+) frame ", line):
                found.append((int(frame[1]), []))
            elif send := re.match(r"  send +queue 1 seq (\d+)", line):
                found[-1][1].append(int(send[1]))
        return found

    def segment(self, number):
        return pathlib.Path(self.data) / "s00" / f"{number:012}.seg"

    def overwrite(self, lsn, data):
        with open(self.segment(lsn // self.segment_bytes), "r+b") as file:
            file.seek(lsn % self.segment_bytes)
            file.write(data)

    def flip(self, lsn):
        offset = lsn % self.segment_bytes
        byte = self.segment(lsn // self.segment_bytes).read_bytes()[offset]
        self.overwrite(lsn, bytes([byte ^ 4]))

    def files(self):
        root = pathlib.Path(self.data)
        return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*")
                if path.is_file() and not path.relative_to(root).parts[0].startswith("repair-")}

    def repair(self):
        """Shows, does and undoes it, does it again; returns what was said of losses."""
        damaged = self.files()
        shown = self.run_pawl("wal", "repair", "--data", self.data)
        self.assertEqual((shown.returncode, shown.stderr), (4, ""), shown.stdout)
        self.assertEqual(self.files(), damaged, "showing changes nothing")
        self.apply(shown.stdout)
        self.undo("repair-1")
        self.assertEqual(self.files(), damaged, "the copy undoes it")
        self.apply(shown.stdout)
        self.assertEqual(self.run_pawl("wal", "verify", self.data).returncode, 0)
        again = self.run_pawl("wal", "repair", "--data", self.data, "--apply")
        self.assertEqual((again.returncode, again.stdout), (0, f"{self.data}: nothing to repair\n"))
        return shown.stdout

    def apply(self, shown):
        applied = self.run_pawl("wal", "repair", "--data", self.data, "--apply")
        self.assertEqual((applied.returncode, applied.stderr), (0, ""), applied.stdout)
        self.assertEqual(applied.stdout.splitlines()[:-1], shown.splitlines()[:-1], "what was shown is what is done")

    def undo(self, name):
        copy = pathlib.Path(self.data) / name
        for made in re.findall(r"^made: (.*)$", (copy / "README").read_text(), re.M):
            (pathlib.Path(self.data) / made).unlink()
        shutil.copytree(copy, self.data, dirs_exist_ok=True, ignore=lambda *_: ["README"])
        (pathlib.Path(self.data) / "README").unlink(missing_ok=True)

    def served(self):
        """The numbers in the bodies of all messages that a start on what was repaired hands out."""
        server = Pawl(self.pawl.binary, data=self.data).start()
        numbers = receive_all(server)
        self.assertEqual(server.stop(), 0, server.errors())
        pathlib.Path(server.stderr.name).unlink()
        return numbers


def call(server, action, **request):
    connection = http.client.HTTPConnection(server.ready["http"])
    connection.request("POST", "/", json.dumps(request), {
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
    answer = json.loads(connection.getresponse().read() or "{}")
    connection.close()
    return answer


def receive_all(server):
    url = call(server, "GetQueueUrl", QueueName="a")["QueueUrl"]
    numbers = []
    while messages := call(server, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        numbers += [int(message["Body"].split()[1]) for message in messages]
    return sorted(numbers)


class WalRepair(Repair):
    """On the log of one segment: message i is number i + 1, each in a frame of its own."""

    @classmethod
    def fill(cls):
        url = call(cls.pawl, "CreateQueue", QueueName="a")["QueueUrl"]
        for i in range(MESSAGES):
            call(cls.pawl, "SendMessage", QueueUrl=url, MessageBody=f"body {i} " + "x" * 500)

    def send_at(self, i):
        return self.frames()[i]

    def test_a_sound_log_and_a_torn_tail_are_left_alone(self):
        for tear in (None, self.frames()[-1][0] + 256):
            if tear:
                self.overwrite(tear, bytes(1024))
            before = self.files()
            done = self.run_pawl("wal", "repair", "--data", self.data, "--apply")
            self.assertEqual((done.returncode, done.stdout), (0, f"{self.data}: nothing to repair\n"), done.stderr)
            self.assertEqual(self.files(), before)

    def test_a_flipped_bit_costs_the_one_message_it_is_in(self):
        for offset in (0, 10, 40, 64, 300):  # of the frame's header and of the record
            with self.subTest(offset=offset):
                self.copy()
                at, (seq,) = self.send_at(20)
                self.flip(at + offset)
                said = self.repair()
                header = offset < 64
                self.assertEqual(f"lost, by what it says of itself: 1 send (queue 1: {seq})" in said, offset == 300, said)
                want = [i for i in range(MESSAGES) if header or i + 1 != seq]
                self.assertEqual(self.served(), want)

    def test_zeroed_frames_are_told_by_the_numbers_that_are_missing(self):
        at, (seq,) = self.send_at(20)
        self.overwrite(at, bytes(8192))
        self.assertIn(f"lost: 2 messages of queue 1, by the numbers that are missing: {seq}-{seq + 1}\n", self.repair())
        self.assertEqual(self.served(), [i for i in range(MESSAGES) if i + 1 not in (seq, seq + 1)])

    def test_a_segment_that_was_cut_is_full_size_again_with_what_is_left(self):
        at, (seq,) = self.send_at(30)
        with open(self.segment(0), "r+b") as file:
            file.truncate(at + 100)
        self.assertIn(f"000000000000.seg is not full size, and gets it back: what was behind byte {at + 100} is lost",
                      self.repair())
        self.assertEqual(self.served(), list(range(seq - 1)))

    def test_numbers_that_may_be_lost_are_not_given_out_again(self):
        at, (seq,) = self.send_at(30)
        with open(self.segment(0), "r+b") as file:
            file.truncate(at + 100)
        self.repair()
        server = Pawl(self.pawl.binary, data=self.data).start()
        call(server, "SendMessage", QueueUrl=call(server, "GetQueueUrl", QueueName="a")["QueueUrl"], MessageBody="new")
        server.kill()
        pathlib.Path(server.stderr.name).unlink()
        dump = self.run_pawl("wal", "dump", self.data).stdout
        self.assertGreater(max(int(n) for n in re.findall(r"^  send +queue 1 seq (\d+)", dump, re.M)), MESSAGES)

    def test_manifests_that_are_both_gone_are_made_out_of_the_segments(self):
        for damage in (lambda path: path.write_bytes(bytes(4096)), lambda path: path.unlink()):
            self.copy()
            for name in ("MANIFEST.a", "MANIFEST.b"):
                damage(pathlib.Path(self.data) / "s00" / name)
            said = self.repair()
            self.assertIn("made anew, with no checkpoint", said)
            self.assertNotIn("lost", said)
            self.assertEqual(self.served(), list(range(MESSAGES)))

    def test_a_repair_that_was_cut_short_is_done_again(self):
        at, (seq,) = self.send_at(20)
        self.overwrite(at, bytes(4096))
        before = {path.name: path.read_bytes() for path in (pathlib.Path(self.data) / "s00").iterdir()}
        shown = self.run_pawl("wal", "repair", "--data", self.data).stdout
        self.apply(shown)
        for name in ("MANIFEST.a", "MANIFEST.b"):  # as if it had not come so far
            (pathlib.Path(self.data) / "s00" / name).write_bytes(before[name])
        self.assertEqual(self.run_pawl("wal", "verify", self.data).returncode, 0)
        self.overwrite(at, before["000000000000.seg"][at:at + 4096])
        self.apply(self.run_pawl("wal", "repair", "--data", self.data).stdout)
        self.assertEqual(self.run_pawl("wal", "verify", self.data).returncode, 0)
        self.assertEqual(self.served(), [i for i in range(MESSAGES) if i + 1 != seq])

    def test_a_server_on_it_and_a_directory_that_is_none_are_refused(self):
        with Pawl(self.pawl.binary, data=self.data):
            refused = self.run_pawl("wal", "repair", "--data", self.data, "--apply")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is in use by another pawl", refused.stderr)
        self.assertEqual(self.run_pawl("wal", "repair", "--data", self.data).returncode, 3)
        self.assertFalse(os.path.exists(self.data))


class WalRepairOfReservedNumbers(Repair):
    """The queue reserves its numbers ahead, and the second start leaves out what the first one had reserved."""

    @classmethod
    def fill(cls):
        url = call(cls.pawl, "CreateQueue", QueueName="a", Attributes={"x-durability": "async"})["QueueUrl"]
        for i in range(MESSAGES):
            if i == MESSAGES // 2:
                cls.pawl.kill()
                cls.pawl.start()
            call(cls.pawl, "SendMessage", QueueUrl=url, MessageBody=f"body {i} " + "x" * 500)
            # This is answered when it is on the disk: each message is in a frame of its own.
            call(cls.pawl, "SetQueueAttributes", QueueUrl=url, Attributes={"VisibilityTimeout": str(i)})

    def test_numbers_that_were_left_out_are_not_missing(self):
        frames = [(at, seqs) for at, seqs in self.frames() if seqs]
        self.assertEqual(len(frames), MESSAGES)
        self.assertGreater(frames[-1][1][0], 100000)
        at, (seq,) = frames[5]
        self.overwrite(at, bytes(4096))
        self.assertIn(f"lost: 1 message of queue 1, by the numbers that are missing: {seq}\n", self.repair())
        self.assertEqual(len(self.served()), MESSAGES - 1)


class WalRepairOnCheckpoints(Repair):
    """On a log with a checkpoint and older segments: of the first 140 messages five are left."""

    LEFT = [i for i in range(140) if i % 30 == 7]
    SENT = 420

    @classmethod
    def fill(cls):
        url = call(cls.pawl, "CreateQueue", QueueName="a", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]

        def send(numbers):
            for i in numbers:
                call(cls.pawl, "SendMessage", QueueUrl=url, MessageBody=f"body {i} " + "x" * 60000)

        send(range(140))
        kept = []
        while messages := call(cls.pawl, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                if int(message["Body"].split()[1]) in cls.LEFT:
                    kept.append(message["ReceiptHandle"])
                else:
                    call(cls.pawl, "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        for handle in kept:
            call(cls.pawl, "ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
        send(range(140, cls.SENT))

    ALL = LEFT + list(range(140, SENT))

    def segments(self):
        return sorted(int(path.stem) for path in (pathlib.Path(self.data) / "s00").glob("*.seg"))

    def checkpoint(self):
        dump = self.run_pawl("wal", "dump", self.data).stdout
        (begin,) = re.findall(r"^(\d+) checkpoint: a start reads from here$", dump, re.M)
        (end,) = re.findall(r"^(\d+) checkpoint ends$", dump, re.M)
        return int(begin), int(end)

    def in_segment(self, number):
        """The numbers in the bodies of the messages that are sent in a segment."""
        return {seq - 1 for at, seqs in self.frames() if at // self.segment_bytes == number for seq in seqs}

    def test_it_is_sound_and_has_older_segments(self):
        done = self.run_pawl("wal", "repair", "--data", self.data)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.data}: nothing to repair\n"), done.stderr)
        begin, _ = self.checkpoint()
        self.assertGreater(begin // self.segment_bytes, self.segments()[0] + 1)

    def test_a_flipped_bit_in_an_older_segment_costs_the_one_message_it_is_in(self):
        begin, _ = self.checkpoint()
        at, (seq,) = next(frame for frame in self.frames() if frame[1] and frame[1][0] - 1 in self.LEFT)
        self.assertLess(at, begin)
        self.flip(at + 3000)
        self.assertIn(f"lost: 1 message of queue 1, damaged where it is: {seq}\n", self.repair())
        self.assertEqual(self.served(), [i for i in self.ALL if i != seq - 1])

    def test_an_older_segment_that_is_missing_costs_what_was_in_it(self):
        number = self.segments()[0]
        gone = self.in_segment(number)
        self.assertTrue(gone & set(self.LEFT))
        self.segment(number).unlink()
        self.assertIn(", damaged where it is: ", self.repair())
        self.assertEqual(self.served(), [i for i in self.ALL if i not in gone])

    def test_a_segment_that_is_missing_in_the_middle_costs_what_was_in_it(self):
        begin, _ = self.checkpoint()
        number = begin // self.segment_bytes + 1
        self.assertIn(number + 1, self.segments())
        gone = self.in_segment(number)
        self.segment(number).unlink()
        self.assertIn(f"{number:012}.seg is missing, and is made anew: ", self.repair())
        self.assertEqual(self.served(), [i for i in self.ALL if i not in gone])

    def test_what_is_left_of_an_older_segment_that_was_cut_is_kept(self):
        number, cut = 0, 2 << 20
        gone = {seq - 1 for at, seqs in self.frames() if cut <= at + 70000 and at < self.segment_bytes for seq in seqs}
        with open(self.segment(number), "r+b") as file:
            file.truncate(cut)
        self.repair()
        served = set(self.served())
        self.assertTrue(set(self.ALL) - gone <= served < set(self.ALL), served)
        self.assertIn(7, served)

    def test_messages_that_a_damaged_checkpoint_named_are_there_again(self):
        begin, end = self.checkpoint()
        for frame in [at for at, _ in self.frames() if begin <= at < end]:
            with self.subTest(frame=frame):
                self.copy()
                whole = self.frames()
                self.overwrite(frame, bytes(4096))
                said = self.repair()
                lost = {seqs[0] - 1 for at, seqs in whole if at == frame and seqs}
                served = self.served()
                self.assertTrue(set(self.ALL) - lost <= set(served), said)

    def test_without_manifests_the_checkpoint_is_found(self):
        for name in ("MANIFEST.a", "MANIFEST.b"):
            (pathlib.Path(self.data) / "s00" / name).unlink()
        self.assertIn("made anew, with ", self.repair())
        self.assertTrue(set(self.ALL) <= set(self.served()))



class WalRepairOfShards(Repair):
    """Queues of two shards: what one log says of the queues of the other."""

    shards = 2
    QUEUES = "abcdef"

    @classmethod
    def fill(cls):
        for name in cls.QUEUES:
            url = call(cls.pawl, "CreateQueue", QueueName=name)["QueueUrl"]
            for i in range(10):
                call(cls.pawl, "SendMessage", QueueUrl=url, MessageBody=f"{name} {i} " + "x" * 500)

    def bodies(self):
        """What each queue hands out; None: there is no such queue."""
        server = Pawl(self.pawl.binary, data=self.data).start()
        found = {}
        for name in self.QUEUES:
            url = call(server, "GetQueueUrl", QueueName=name).get("QueueUrl")
            found[name] = set() if url else None
            while url and (messages := call(server, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages")):
                found[name] |= {message["Body"][:3] for message in messages}
        new = call(server, "CreateQueue", QueueName="new")["QueueUrl"]
        self.assertNotIn("Messages", call(server, "ReceiveMessage", QueueUrl=new))
        server.kill()
        server.start()
        self.assertNotIn("Messages", call(server, "ReceiveMessage", QueueUrl=new), "its id is not that of a lost queue")
        self.assertEqual(server.stop(), 0)
        pathlib.Path(server.stderr.name).unlink()
        return found

    def find(self, text):
        """The log, its only segment in use, and the place of a text in it."""
        for log in ("s00", "s01"):
            segment = pathlib.Path(self.data) / log / "000000000000.seg"
            at = segment.read_bytes().find(text)
            if at >= 0:
                return log, segment, at
        raise AssertionError(text)

    def damage(self, text):
        log, segment, at = self.find(text)
        content = bytearray(segment.read_bytes())
        content[at] ^= 128
        segment.write_bytes(content)
        return log

    def test_a_damaged_message_in_each_log_costs_just_these(self):
        logs = [self.damage(f"{name} 3 xxx".encode()) for name in self.QUEUES]
        self.assertEqual(set(logs), {"s00", "s01"})
        said = self.repair()
        self.assertEqual(len(re.findall(r"^s0[01]: lost: 1 message of queue \d, by the numbers that are missing: 4$", said, re.M)), 6, said)
        self.assertEqual(self.bodies(), {name: {f"{name} {i}" for i in range(10) if i != 3} for name in self.QUEUES})

    def test_messages_of_a_queue_whose_settings_are_lost_are_shown_and_go_to_no_other(self):
        log, segment, at = self.find(b"000000000000\x01\x00e")  # account and name in its settings
        self.assertEqual(log, "s00")
        content = bytearray(segment.read_bytes())
        content[at + 14] ^= 1
        segment.write_bytes(content)
        said = self.repair()
        self.assertIn("1 settings (queue 5)", said)
        self.assertRegex(said, r"not served: 10 messages of queue 5, whose settings are not there \(deleted, or lost\): 1-10\n")
        self.assertEqual(self.bodies(), {name: {f"{name} {i}" for i in range(10)} if name != "e" else None for name in self.QUEUES})


if __name__ == "__main__":
    main()
