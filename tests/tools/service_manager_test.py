#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl serve` as a service of Type=notify: the messages of its life in order, and the watchdog, which a hung shard does not feed."""

import contextlib
import ctypes
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import SignedPawl, main  # noqa: E402
import pawl_server  # noqa: E402

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # __WALL: threads too
WAITS_FOR_RING = "426"  # io_uring_enter, in /proc/PID/task/TID/syscall; on every architecture
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextlib.contextmanager
def hung(thread):
    """Stops one thread of a process and no other one."""
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, thread)


def shard_threads(process):
    """The threads that wait in their ring, without workers of the kernel."""
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        if (task / "syscall").read_text().split()[0] == WAITS_FOR_RING and not (task / "comm").read_text().startswith("iou-"):
            found.append(int(task.name))
    return found


class ServiceManager(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="pawl-notify-")
        self.addCleanup(place.cleanup)
        self.name = f"{place.name}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.pawl = SignedPawl(pawl_server.ServedTest.binary, extra=["--shards", "2", "--poll", "never"])
        self.addCleanup(self.pawl.remove_data)
        self.addCleanup(self.end)

    def end(self):
        if self.pawl.process and self.pawl.process.poll() is None:
            self.pawl.kill()

    def start(self, listens=True, **more):
        if listens:
            self.socket.bind("\0" + self.name[1:] if self.name.startswith("@") else self.name)
        variables = {"NOTIFY_SOCKET": self.name, **more}
        os.environ.update(variables)
        try:
            self.pawl.start()
        finally:
            for name in variables:
                del os.environ[name]

    def next(self, seconds=10):
        """The lines of the next message."""
        self.socket.settimeout(seconds)
        return self.socket.recv(4096).decode().splitlines()

    def silent_for(self, seconds):
        with self.assertRaises(TimeoutError):
            self.next(seconds)

    def assert_life(self):
        status, more = self.next()
        self.assertTrue(status.startswith("STATUS=starting: "), status)
        self.assertEqual(more, "EXTEND_TIMEOUT_USEC=60000000")
        self.assertEqual(self.next(), ["READY=1", "STATUS=serves; 0 messages were recovered"])
        before = time.monotonic_ns() // 1000
        self.pawl.process.send_signal(signal.SIGHUP)
        reloading, when = self.next()
        self.assertEqual(reloading, "RELOADING=1")
        name, microseconds = when.split("=")
        self.assertEqual(name, "MONOTONIC_USEC")
        self.assertTrue(before <= int(microseconds) <= time.monotonic_ns() // 1000, when)
        self.assertEqual(self.next(), ["READY=1"])
        self.pawl.process.send_signal(signal.SIGUSR2)
        self.assertTrue(self.next()[0].startswith("STATUS=drains: "))
        stopping, status = self.next()
        self.assertEqual(stopping, "STOPPING=1")
        self.assertTrue(status.startswith("STATUS=stops "), status)
        self.assertEqual(self.pawl.process.wait(20), 0)  # another signal would end the stop
        self.pawl.process.stdout.close()
        self.pawl.stderr.close()
        self.silent_for(0.1)
        self.assertNotIn("warning", self.pawl.errors())

    def test_each_state_is_told_in_order(self):
        self.start()
        self.assert_life()

    def test_the_socket_may_be_abstract(self):
        self.name = f"@pawl-notify-{os.getpid()}"
        self.start()
        self.assert_life()

    def test_a_failed_start_says_why(self):
        self.start()
        self.next(), self.next()
        second = SignedPawl(pawl_server.ServedTest.binary, data=self.pawl.data)
        os.environ["NOTIFY_SOCKET"] = self.name
        try:
            with self.assertRaises(RuntimeError):
                second.start()
        finally:
            del os.environ["NOTIFY_SOCKET"]
            second.stderr.close()
            second.process.stdout.close()
        line, = self.next()
        self.assertTrue(line.startswith("STATUS=cannot start: ") and "is in use by another pawl" in line, line)

    def test_a_socket_that_cannot_be_used_is_one_line(self):
        self.start(listens=False, WATCHDOG_USEC="1000000")
        self.pawl.process.send_signal(signal.SIGHUP)
        self.assertEqual(self.pawl.stop(), 0)
        self.assertEqual(self.pawl.errors().count(self.name), 1, self.pawl.errors())
        self.assertIn(f"warning: cannot connect to NOTIFY_SOCKET {self.name}: No such file or directory", self.pawl.errors())
        self.pawl.extra += ["--log-format", "json"]
        self.start(listens=False)
        self.assertEqual(self.pawl.stop(), 0)
        self.assertEqual(self.pawl.errors().count('"code":"service_manager_unreachable"'), 1, self.pawl.errors())

    def test_the_watchdog_is_fed_also_by_idle_shards_and_not_by_a_hung_one(self):
        self.start(WATCHDOG_USEC="900000", WATCHDOG_PID="1")
        self.next(), self.next()
        self.silent_for(0.5)  # the watchdog of another process
        self.end()

        os.unlink(self.name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.start(WATCHDOG_USEC="900000")
        self.next(), self.next()
        began = time.monotonic()
        for _ in range(6):
            self.assertEqual(self.next(), ["WATCHDOG=1"])
        self.assertGreater(time.monotonic() - began, 1.4)  # thirds of the period
        shards = shard_threads(self.pawl.process.pid)
        if len(shards) != 2:
            self.skipTest(f"{len(shards)} threads wait in io_uring: this machine refuses it")
        for shard in shards:
            with hung(shard):
                time.sleep(1)
                while self.unread():
                    self.next()
                self.silent_for(1.5)
            self.assertEqual(self.next(), ["WATCHDOG=1"])
        self.assertEqual(self.pawl.stop(), 0)

    def unread(self):
        self.socket.settimeout(0)
        try:
            return self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return b""


if __name__ == "__main__":
    main()
