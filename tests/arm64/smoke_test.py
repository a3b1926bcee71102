#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The arm64 program of `tools/cross arm64` under qemu: it serves both protocols, stops in order, and its data directory is
that of the x86-64 program, in both directions.

    tests/arm64/smoke_test.py build/release/pawl
"""

import hashlib
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
from pawl_server import Arm64Pawl, Pawl, main  # noqa: E402
import binary  # noqa: E402
import pawl_server  # noqa: E402
import wire  # noqa: E402

COMMAND_SECONDS = 120
SIZES = (1, 55, 56, 63, 64, 200, 1000, 30_000, 1, 130)  # around the blocks of MD5
TIME = re.compile(r"\b1\d{12}\b")  # milliseconds since 1970


def body(name, i):
    return (f"{name} {i} " * 5_000)[:SIZES[i]]


def send_ten(voice, url, name, fifo):
    entries = [{"Id": str(i), "MessageBody": body(name, i), "MessageAttributes": {"n": {"DataType": "Number", "StringValue": str(i)}}}
               | ({"MessageGroupId": f"g{i % 3}", "MessageDeduplicationId": f"{name}-{i}"} if fifo else {}) for i in range(len(SIZES))]
    answer = voice.call("SendMessageBatch", QueueUrl=url, Entries=entries)
    if answer.get("Failed"):
        raise AssertionError(answer)
    return answer["Successful"]


def receive_all(voice, url):
    """The bodies of the messages, which are deleted."""
    bodies = []
    while messages := voice.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get("Messages"):
        for message in messages:
            bodies.append(message["Body"])
            voice.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return sorted(bodies)


def wal(command, verb, data):
    return subprocess.run([*command, "wal", verb, data], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True).stdout


class PackageForArm64(unittest.TestCase):
    def test_it_depends_on_the_packages_of_the_libraries(self):
        """The database of packages in the root of tools/cross knows them, with the versions that are needed."""
        loader = importlib.machinery.SourceFileLoader("package", str(HERE.parents[1] / "tools" / "package"))
        package = importlib.util.module_from_spec(importlib.util.spec_from_loader("package", loader))
        sys.dont_write_bytecode = True
        loader.exec_module(package)
        found = package.Build("arm64", None).dependencies(Arm64Pawl.tree / "pawl")
        for library in ("libc6", "libssl3", "liburing2", "zlib1g"):
            self.assertRegex(found, rf"\b{library} \(>= [\d.]+")


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.native = [str(pathlib.Path(pawl_server.ServedTest.binary).resolve())]

    def start(self, kind, data=None):
        pawl = kind(pawl_server.ServedTest.binary, data=data, extra=["--shards", "1"])
        self.addCleanup(pawl.remove_data)
        pawl.start()
        self.addCleanup(lambda: pawl.process.poll() is None and pawl.kill())
        return pawl

    def voices(self, pawl):
        made = [wire.Json(pawl), binary.Binary(pawl)]
        for voice in made:
            self.addCleanup(voice.close)
        return made

    def send_to_two_queues(self, pawl):
        """Sends by both protocols to a standard and a FIFO queue; returns what a receiver should see."""
        sent = {}
        for queue, fifo in (("standard", False), ("ordered.fifo", True)):
            json = self.voices(pawl)[0]
            url = json.call("CreateQueue", QueueName=queue, Attributes={"FifoQueue": "true"} if fifo else {})["QueueUrl"]
            for voice in self.voices(pawl):
                send_ten(voice, url, f"{queue}-{voice.name}", fifo)
            sent[queue] = sorted(body(f"{queue}-{name}", i) for name in ("json", "binary") for i in range(len(SIZES)))
        return sent

    def assert_received(self, pawl, sent):
        json = self.voices(pawl)[0]
        for queue, bodies in sent.items():
            self.assertEqual(receive_all(json, f"{pawl.url}/{pawl_server.ACCOUNT}/{queue}"), bodies, queue)

    def test_it_falls_back_to_threads_and_serves_both_protocols(self):
        pawl = self.start(Arm64Pawl)
        json, binary_voice = self.voices(pawl)
        url = json.call("CreateQueue", QueueName="q")["QueueUrl"]
        for receipt, i in zip(send_ten(json, url, "q", fifo=False), range(len(SIZES)), strict=True):
            self.assertEqual(receipt["MD5OfMessageBody"], hashlib.md5(body("q", i).encode()).hexdigest())
        self.assertEqual(receive_all(binary_voice, url), sorted(body("q", i) for i in range(len(SIZES))))
        send_ten(binary_voice, url, "r", fifo=False)
        messages = json.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        self.assertEqual(sorted(m["MD5OfBody"] for m in messages),
                         sorted(hashlib.md5(body("r", i).encode()).hexdigest() for i in range(len(SIZES))))
        self.assertEqual(binary_voice.borrowed, 0)
        self.assertEqual(pawl.stop(), 0, pawl.errors())
        self.assertIn("runs with --io threads instead of io_uring", pawl.errors())

    def test_each_program_reads_the_directory_of_the_other(self):
        for writer, reader in ((Arm64Pawl, Pawl), (Pawl, Arm64Pawl)):
            with self.subTest(writer=writer.__name__, reader=reader.__name__):
                pawl = self.start(writer)
                sent = self.send_to_two_queues(pawl)
                self.assertEqual(pawl.stop(), 0, pawl.errors())
                again = self.start(reader, data=pawl.data)
                self.assertEqual(again.ready["recovered_messages"], sum(map(len, sent.values())))
                self.assert_received(again, sent)
                self.assertEqual(again.stop(), 0, again.errors())

    def test_each_program_recovers_the_log_of_the_other_after_a_kill(self):
        for writer, reader in ((Arm64Pawl, Pawl), (Pawl, Arm64Pawl)):
            with self.subTest(writer=writer.__name__, reader=reader.__name__):
                pawl = self.start(writer)
                sent = self.send_to_two_queues(pawl)
                pawl.kill()
                again = self.start(reader, data=pawl.data)
                self.assert_received(again, sent)
                self.assertEqual(again.stop(), 0, again.errors())

    def test_equal_requests_make_equal_files(self):
        files, records = [], []
        for kind in (Pawl, Arm64Pawl):
            pawl = self.start(kind)
            self.send_to_two_queues(pawl)
            self.assertEqual(pawl.stop(), 0, pawl.errors())
            top = pathlib.Path(pawl.data)
            files.append(sorted((str(path.relative_to(top)), path.stat().st_size) for path in top.rglob("*") if path.is_file()))
            dump = wal(self.native, "dump", pawl.data)
            self.assertEqual(wal(Arm64Pawl.emulated, "dump", pawl.data), dump)
            self.assertEqual(wal(Arm64Pawl.emulated, "verify", pawl.data), wal(self.native, "verify", pawl.data))
            records.append([TIME.sub("TIME", line) for line in dump.splitlines() if line.startswith("  ")])
        self.assertEqual(files[0], files[1])
        self.assertEqual(records[0], records[1])
        self.assertGreater(len(records[0]), 4 * len(SIZES))


if __name__ == "__main__":
    main()
