#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real servers report the codes of net/events/CODES.md that need a fault of the machine: of its disk, its clocks, its memory."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main, scratch  # noqa: E402
from wal_fixture import call  # noqa: E402
import pawl_server  # noqa: E402

LOOKS, LOOK_SECONDS = 200, 0.05
QUEUES = 30_000  # with delayed messages they fill 32 MiB


class FakedPawl(Pawl):
    """A server on a machine whose faults are the files in `machine` (faked_machine.c)."""

    library, machine = None, None

    def command(self):
        return ["env", f"LD_PRELOAD={self.library}", f"FAKED_MACHINE={self.machine}", *super().command(),
                "--log-format", "json", "--landlock", "off", "--io", "threads", "--shards", "1"]

    def events(self):
        lines = pathlib.Path(self.errors_file).read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for(self, code, times=1, act=lambda: None):
        """The event of a code, when it was reported so many times. `act` happens before each look."""
        for _ in range(LOOKS):
            act()
            found = [event for event in self.events() if event["code"] == code]
            if len(found) >= times:
                return found[-1]
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"no {code}: {self.errors()}")


class EventCodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="event-codes-", dir=scratch())
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.library = os.path.join(cls.place, "faked_machine.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", cls.library, str(pathlib.Path(__file__).with_name("faked_machine.c"))],
                       check=True, timeout=60)

    def setUp(self):
        self.machine = pathlib.Path(tempfile.mkdtemp(prefix="machine-", dir=self.place))

    def new(self, *extra, data=None):
        pawl = FakedPawl(pawl_server.ServedTest.binary, data=data, extra=extra)
        pawl.library, pawl.machine = self.library, self.machine
        self.addCleanup(pawl.remove_data)
        self.addCleanup(lambda: pawl.process is not None and pawl.process.poll() is None and pawl.kill())
        return pawl

    def start(self, *extra, data=None):
        return self.new(*extra, data=data).start()

    def break_machine(self, fault):
        (self.machine / fault).touch()

    def mend(self, fault):
        (self.machine / fault).unlink()

    def send(self, pawl, size=1):
        """The error of a send; empty: there is none."""
        return call(pawl, "SendMessage", QueueUrl="q", MessageBody="m" * size).get("__type", "")

    def test_a_full_disk(self):
        pawl = self.start("--dev")
        call(pawl, "CreateQueue", QueueName="q")
        time.sleep(1.1)  # health was looked at once
        self.break_machine("full")
        pawl.wait_for("disk_full", act=lambda: self.send(pawl, 1 << 20))
        event = pawl.wait_for("disk_nearly_full")
        self.assertEqual(event["level"], "warning")
        self.mend("full")
        pawl.wait_for("disk_has_space")
        self.assertEqual(pawl.wait_for("check_ok")["check"], "space")
        self.assertEqual(self.send(pawl), "")
        self.assertEqual(pawl.stop(), 0)
        self.break_machine("full")
        again = self.start(data=pawl.data)
        again.wait_for("disk_not_calibrated")
        self.assertEqual(again.stop(), 0)

    def test_a_slow_disk(self):
        pawl = self.start("--dev")
        call(pawl, "CreateQueue", QueueName="q")
        self.break_machine("slow")
        pawl.wait_for("flush_slow", act=lambda: self.send(pawl))
        self.mend("slow")
        self.assertEqual(pawl.stop(), 0)

    def test_a_disk_with_a_bad_place(self):
        pawl = self.start("--dev")
        call(pawl, "CreateQueue", QueueName="q")
        self.break_machine("bad-place")
        self.break_machine("bad-place-again")
        event = pawl.wait_for("new_file_set_aside", act=lambda: self.send(pawl, 1 << 20))
        self.assertEqual((event["errno"], event["files"]), (5, 1))
        self.assertEqual(pawl.stop(), 0)

    def test_a_broken_log(self):
        pawl = self.start("--dev")
        call(pawl, "CreateQueue", QueueName="q")
        for segment in pathlib.Path(pawl.data, "s00").glob("*.seg"):
            self.break_machine(f"broken-{segment.name}")
        with self.assertRaises(OSError):
            for _ in range(LOOKS):
                self.send(pawl)
        self.assertEqual(pawl.process.wait(20), 1)
        self.assertEqual(pawl.wait_for("log_failed")["errno"], 5)

    def test_a_log_that_cannot_be_marked_as_closed(self):
        pawl = self.start("--dev")
        for name in ("MANIFEST.a", "MANIFEST.b"):
            self.break_machine(f"broken-{name}")
        pawl.stop()
        pawl.wait_for("log_not_closed")

    def test_a_torn_write(self):
        pawl = self.start("--dev")
        call(pawl, "CreateQueue", QueueName="q")
        self.break_machine("torn")
        with self.assertRaises(OSError):
            self.send(pawl, 200_000)
        self.assertEqual(pawl.process.wait(20), 9)
        self.mend("torn")
        again = self.start(data=pawl.data)
        again.wait_for("torn_write_cut_off")
        self.assertEqual(again.stop(), 0)

    def test_a_copy_on_write_file_system(self):
        self.break_machine("copy-on-write")
        pawl = self.start("--dev")
        self.assertIn("btrfs", pawl.wait_for("copy_on_write_disk")["text"])
        self.assertEqual(pawl.stop(), 0)

    def test_a_wall_clock_that_is_set(self):
        pawl = self.start("--dev")
        time.sleep(1.1)
        self.break_machine("stepped")
        event = pawl.wait_for("wall_clock_set")
        self.assertAlmostEqual(event["stepped_us"] / 1e6, 1000, delta=1)
        self.break_machine("broken-PAWL")
        self.mend("stepped")
        self.assertIn("PAWL", pawl.wait_for("clock_not_saved")["text"])
        self.mend("broken-PAWL")
        self.assertEqual(pawl.stop(), 0)

    def test_a_restart_of_the_machine(self):
        self.break_machine("hidden-boot")
        pawl = self.start("--dev")
        self.assertIn("boot_id", pawl.wait_for("clock_hidden")["text"])
        self.assertEqual(pawl.stop(), 0)
        self.break_machine("stepped")
        again = self.start(data=pawl.data)
        self.assertAlmostEqual(again.wait_for("clock_waits")["uncounted_us"] / 1e6, 1000, delta=10)
        self.break_machine("synchronised")
        self.assertAlmostEqual(again.wait_for("time_off_counted")["counted_us"] / 1e6, 1000, delta=10)
        self.mend("synchronised")
        again.wait_for("clock_unsynchronised")
        self.break_machine("synchronised")
        self.assertEqual(again.wait_for("check_ok")["check"], "clock")
        self.assertEqual(again.stop(), 0)

    def test_a_full_memory(self):
        config = self.machine / "pawl.toml"
        config.write_text("".join(f'[[queue]]\nname = "q{i}"\nDelaySeconds = 900\n' for i in range(QUEUES)))
        pawl = self.start("--dev", "--memory", "32MiB", "--config", str(config))
        bench = [pawl.binary, "bench", "send", "--binary", pawl.ready["binary"], "--queue", "q0", "--connections", "4", "--depth", "16", "--batch", "10",
                 "--body", "1", "--messages", "200000", "--seconds", "1"]
        event = pawl.wait_for("memory_full", act=lambda: subprocess.run(bench, capture_output=True, timeout=60, check=False))
        self.assertEqual(event["shard"], 0)
        self.assertEqual(pawl.stop(), 0)

    def test_the_last_writes_of_an_ended_process(self):
        pawl = self.start("--dev")
        self.assertEqual(pawl.kill(), -signal.SIGKILL)
        with open(os.path.join(pawl.data, "LOCK"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # LOCK still names the ended process
            again = self.new("--dev", data=pawl.data)
            again.launch()
            again.wait_for("data_directory_busy")
        again.wait_ready()
        self.assertEqual(again.stop(), 0)

    def test_a_drain(self):
        pawl = self.start()
        pawl.wait_for("disk_calibrated")
        pawl.process.send_signal(signal.SIGUSR2)
        self.assertEqual(pawl.process.wait(20), 0)
        pawl.wait_for("draining")
        pawl.wait_for("stopped")


if __name__ == "__main__":
    main()
