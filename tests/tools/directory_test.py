#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A data directory whose parts are lost, empty, swapped or of mixed age: refused with names and ways on, never served in part."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main, scratch  # noqa: E402
import pawl_server  # noqa: E402
from wal_fixture import call  # noqa: E402

QUEUES = 8
EACH = 5


def messages_of(pawl, names):
    """What every queue has: its bodies, received once and given back."""
    found = {}
    for name in names:
        url = call(pawl, "GetQueueUrl", QueueName=name)["QueueUrl"]
        messages = []
        for _ in range(4 * EACH):
            got = call(pawl, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
            messages += got
            if not got:
                break
        for message in messages:
            call(pawl, "ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
        found[name] = sorted(message["Body"] for message in messages)
    return found


class DirectoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Two shards, eight queues of five messages. `older` is the directory as it was one startup before."""
        cls.binary = pawl_server.ServedTest.binary
        cls.place = tempfile.mkdtemp(prefix="pawl-directory-", dir=scratch())
        cls.made, cls.older = os.path.join(cls.place, "made"), os.path.join(cls.place, "older")
        cls.names = [f"queue-{i}" for i in range(QUEUES)]
        with_data(cls, cls.made, ["--shards", "2"], lambda pawl: [cls.fill(pawl, name, 0, 3) for name in cls.names])
        shutil.copytree(cls.made, cls.older)
        with_data(cls, cls.made, [], lambda pawl: [cls.fill(pawl, name, 3, EACH) for name in cls.names])
        cls.whole = {name: [f"{name} {i}" for i in range(EACH)] for name in cls.names}

    @staticmethod
    def fill(pawl, name, first, last):
        url = call(pawl, "CreateQueue", QueueName=name)["QueueUrl"]
        for i in range(first, last):
            call(pawl, "SendMessage", QueueUrl=url, MessageBody=f"{name} {i}")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place, ignore_errors=True)

    def setUp(self):
        self.data = os.path.join(self.place, "data")
        shutil.copytree(self.made, self.data)
        self.addCleanup(shutil.rmtree, self.data)

    def run_pawl(self, *words):
        return subprocess.run([self.binary, *words], capture_output=True, text=True, timeout=60, check=False)

    def start_fails(self, *parts):
        """The startup is refused with a sentence that has all of the parts; what it served instead is said."""
        pawl = Pawl(self.binary, data=self.data)
        try:
            pawl.start()
        except RuntimeError as error:
            text = str(error)
            pawl.process.stdout.close()
            pawl.stderr.close()
            self.assertIn("ended with 4 ", text)
            for part in parts:
                self.assertIn(part, text)
            return text
        served = messages_of(pawl, [n for n in self.names if n in json.dumps(call(pawl, "ListQueues"))])
        pawl.kill()
        return self.fail(f"it starts and serves {sum(map(len, served.values()))} of {QUEUES * EACH} messages: {pawl.errors()}")

    def damage_is_seen(self, *parts):
        """By verify, with exit code 4, and by a startup."""
        done = self.run_pawl("wal", "verify", self.data)
        self.assertEqual(done.returncode, 4, done)
        for part in parts:
            self.assertIn(part, done.stderr)

    def all_are_served(self, expected=None):
        found = {}
        with_data(self, self.data, [], lambda pawl: found.update(messages_of(pawl, list(expected or self.whole))))
        self.assertEqual(found, expected or self.whole)

    def owned_by(self, shard):
        """Names of the queues that a log has, by its messages."""
        dump = self.run_pawl("wal", "dump", os.path.join(self.made, f"s{shard:02}")).stdout
        ids = {line.split()[2] for line in dump.splitlines() if line.startswith("  send ")}
        control = self.run_pawl("wal", "dump", os.path.join(self.made, "s00")).stdout.splitlines()
        named = {line.split()[2]: line.split()[3] for line in control if line.startswith("  config ")}
        return sorted(named[i] for i in ids)

    def shard(self, number):
        return os.path.join(self.data, f"s{number:02}")

    def test_the_whole_directory_is_served(self):
        self.assertTrue(self.owned_by(0) and self.owned_by(1), "both shards have queues")
        self.assertEqual(self.run_pawl("wal", "verify", self.data).returncode, 0)
        self.all_are_served()

    def test_a_lost_log_refuses_the_start_and_names_its_queues(self):
        away = os.path.join(self.place, "away")
        os.rename(self.shard(1), away)
        self.start_fails("s01 is lost", *self.owned_by(1)[:3], "Restore", f"`pawl wal repair {self.data}`")
        self.assertFalse(os.path.exists(self.shard(1)), "nothing is made in its place")
        self.damage_is_seen("s01", "none of its files is left")
        os.rename(away, self.shard(1))
        self.all_are_served()

    def test_an_empty_log_refuses_the_start(self):
        shutil.rmtree(self.shard(1))
        os.mkdir(self.shard(1))
        self.start_fails("s01 is lost", *self.owned_by(1)[:3])
        self.start_fails("s01 is lost")
        self.damage_is_seen("s01")

    def test_a_lost_control_log_refuses_the_start(self):
        away = os.path.join(self.place, "away")
        os.rename(self.shard(0), away)
        self.start_fails("s00 is lost", "control log", "by id", f"({EACH} messages)", "wal repair")
        self.damage_is_seen("s00")
        os.rename(away, self.shard(0))
        self.all_are_served()

    def test_without_any_log_the_start_is_refused(self):
        for number in (0, 1):
            shutil.rmtree(self.shard(number))
        self.start_fails("s00 is lost", "s01 is lost")
        self.damage_is_seen("s00", "s01")

    def test_swapped_logs_refuse_the_start(self):
        os.rename(self.shard(0), self.data + "/x")
        os.rename(self.shard(1), self.shard(0))
        os.rename(self.data + "/x", self.shard(1))
        self.start_fails("s00 has the log of shard 1", "s01 has the log of shard 0", "Rename them back")
        self.damage_is_seen("s00: damage: it contains the log of s01")
        self.assertEqual(self.run_pawl("wal", "repair", self.data).returncode, 1)

    def test_a_log_of_another_time_refuses_the_start(self):
        for number in (0, 1):
            with self.subTest(shard=number):
                shutil.rmtree(self.shard(number))
                shutil.copytree(os.path.join(self.older, f"s{number:02}"), self.shard(number))
                self.start_fails(f"s{number:02} is a copy from another time", "last start was number 1", "number 2")
                self.damage_is_seen(f"s{number:02}", "another time")
                shutil.rmtree(self.shard(number))
                shutil.copytree(os.path.join(self.made, f"s{number:02}"), self.shard(number))
        self.all_are_served()

    def test_a_file_pawl_of_another_time_refuses_the_start(self):
        """Once more, so that it is two startups behind: one is what a startup that was cut short leaves."""
        with_data(self, self.data, [], lambda pawl: None)
        shutil.copy(os.path.join(self.older, "PAWL"), self.data)
        self.start_fails("s00 is a copy from another time", "s01 is a copy from another time")

    def test_without_the_file_pawl_the_start_is_refused(self):
        os.remove(self.data + "/PAWL")
        self.start_fails("no file PAWL", "Restore PAWL")

    def test_without_manifests_the_start_is_refused_and_repair_makes_them(self):
        for name in ("MANIFEST.a", "MANIFEST.b"):
            os.remove(os.path.join(self.shard(1), name))
        self.start_fails("MANIFEST.a and MANIFEST.b", "pawl wal repair")
        done = self.run_pawl("wal", "repair", "--apply", self.data)
        self.assertEqual(done.returncode, 0, done)
        self.all_are_served()

    def test_either_copy_in_pawl_may_be_damaged(self):
        for at in (100, 4096 + 100):
            with open(self.data + "/PAWL", "r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ 1]))
            self.all_are_served()
            shutil.rmtree(self.data)
            shutil.copytree(self.made, self.data)

    def test_repair_goes_on_without_a_lost_log(self):
        lost = self.owned_by(1)
        shutil.rmtree(self.shard(1))
        shown = self.run_pawl("wal", "repair", self.data)
        self.assertEqual(shown.returncode, 4, shown)
        for name in lost:
            self.assertIn(f"queue {name} (000000000000) goes, with its messages", shown.stdout)
        self.start_fails("s01 is lost")  # nothing was changed
        self.assertEqual(self.run_pawl("wal", "repair", "--apply", self.data).returncode, 0)
        self.assertEqual(self.run_pawl("wal", "verify", self.data).returncode, 0)
        left = {name: self.whole[name] for name in self.names if name not in lost}
        self.all_are_served(left)

        def make_again(pawl):
            for name in lost:
                self.fill(pawl, name, 0, 1)
        with_data(self, self.data, [], make_again)
        self.all_are_served(left | {name: [f"{name} 0"] for name in lost})
        ids = self.queue_ids()
        self.assertEqual(len(ids), len(set(ids)) , ids)
        self.assertGreater(min(ids[-len(lost):]), QUEUES, "no id is used again")

    def queue_ids(self):
        dump = self.run_pawl("wal", "dump", self.shard(0)).stdout
        return [int(line.split()[2]) for line in dump.splitlines() if line.startswith("  config ") and not line.endswith(" gone")]

    def test_repair_goes_on_without_the_control_log(self):
        shutil.rmtree(self.shard(0))
        shown = self.run_pawl("wal", "repair", self.data)
        self.assertEqual(shown.returncode, 4, shown)
        self.assertIn("s00: lost", shown.stdout)
        self.assertIn(f"s01: not served: {EACH} messages of queue", shown.stdout)
        self.assertEqual(self.run_pawl("wal", "repair", "--apply", self.data).returncode, 0)
        with_data(self, self.data, [], lambda pawl: self.fill(pawl, "anew", 0, 1))
        self.all_are_served({"anew": ["anew 0"]})
        self.assertGreater(max(self.queue_ids()), 1_000_000, "ids that the lost log may have given out are not used again")

    def test_repair_takes_a_log_of_another_time_as_it_is(self):
        shutil.rmtree(self.shard(1))
        shutil.copytree(os.path.join(self.older, "s01"), self.shard(1))
        shown = self.run_pawl("wal", "repair", self.data)
        self.assertEqual(shown.returncode, 4, shown)
        self.assertIn("s01: taken as it is, from start 1 (the directory's last one was 2)", shown.stdout)
        self.assertEqual(self.run_pawl("wal", "repair", "--apply", self.data).returncode, 0)
        older = self.owned_by(1)
        self.all_are_served({name: bodies[:3] if name in older else bodies for name, bodies in self.whole.items()})

    def test_a_snapshot_of_a_running_server_starts(self):
        """Of the whole directory at one moment: here nothing is written meanwhile."""
        pawl = Pawl(self.binary, data=self.data).start()
        copy = os.path.join(self.place, "copy")
        shutil.copytree(self.data, copy)
        self.addCleanup(shutil.rmtree, copy)
        pawl.kill()
        shutil.rmtree(self.data)
        os.rename(copy, self.data)
        os.mkdir(copy)
        self.all_are_served()


def with_data(test, data, extra, act):
    """Runs a server on the directory, stops it in order, and keeps the directory."""
    pawl = Pawl(test.binary, data=data, extra=extra).start()
    try:
        act(pawl)
    finally:
        code = pawl.stop()
        pathlib.Path(pawl.errors_file).unlink(missing_ok=True)
    assert code == 0, code


if __name__ == "__main__":
    main()
