#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl wal repair`: what it says is lost, and what a server on the repaired log hands out."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402
from wal_fixture import MESSAGES, KilledServer, call, new_data  # noqa: E402


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
        """The numbers in the bodies of all messages that a startup on what was repaired hands out."""
        server = Pawl(self.pawl.binary, data=self.data).start()
        numbers = receive_all(server)
        self.assertEqual(server.stop(), 0, server.errors())
        pathlib.Path(server.stderr.name).unlink()
        return numbers


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
    """The queue reserves its numbers ahead, and the second startup leaves out what the first one had reserved."""

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
        (begin,) = re.findall(r"^(\d+) checkpoint: recovery begins here$", dump, re.M)
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
        number, cut = 2, 2 << 20  # the first with room in all of it
        begin = number * self.segment_bytes
        gone = {seq - 1 for at, seqs in self.frames() if begin + cut <= at + 70000 and at < begin + self.segment_bytes
                for seq in seqs}
        with open(self.segment(number), "r+b") as file:
            file.truncate(cut)
        self.repair()
        served = set(self.served())
        self.assertTrue(set(self.ALL) - gone <= served < set(self.ALL), served)
        self.assertIn(97, served)

    def test_a_small_segment_that_is_lost_has_its_room_again(self):
        """Whole files of zeros: nothing but the frame behind them says where the room of the last one ended."""
        gone = set()
        for number in (0, 1):
            gone |= self.in_segment(number)
            self.segment(number).write_bytes(bytes(self.segment_bytes))
        self.assertTrue(gone & set(self.LEFT))
        self.repair()
        self.assertEqual(self.served(), [i for i in self.ALL if i not in gone])

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
