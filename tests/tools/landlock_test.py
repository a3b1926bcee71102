#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl serve --landlock auto`: files that a running server cannot write or read, and those that it needs, on every thread."""

import ctypes
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
from pawl_server import Pawl, TlsPawl, main, scratch  # noqa: E402
import pawl_server  # noqa: E402
from wire import Json  # noqa: E402

ASK_VERSION, CREATE_RULESET = 1, 444
VERSION = ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, ASK_VERSION)
PROBE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int report_fd = -1;

/* Asked by each thread while it serves: tries every path of PROBE_PATHS and reports the errors. */
static void probe(void) {
  char paths[4096];
  const char* all = getenv("PROBE_PATHS");
  if (all == NULL || report_fd < 0) return;
  snprintf(paths, sizeof paths, "%s", all);
  char* rest = paths;
  for (char* path; (path = strsep(&rest, ":")) != NULL;) {
    char file[4352], line[4608];
    snprintf(file, sizeof file, "%s/probe-%d", path, gettid());
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int written = fd < 0 ? errno : 0;
    if (fd >= 0) { close(fd); unlink(file); }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    int read_error = fd < 0 ? errno : 0;
    if (fd >= 0) close(fd);
    int n = snprintf(line, sizeof line, "%d %s write %d read %d\n", gettid(), path, written, read_error);
    if (write(report_fd, line, n) < 0) return;
  }
}

__attribute__((constructor)) static void begin(void) {
  const char* name = getenv("PROBE_REPORT");
  if (name != NULL) report_fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

/* Each thread calls one of these: the main one waits for signals, shards read their eventfd. */
#define PROBED \
  static _Thread_local int probed; \
  if (!probed && getenv("PROBE_AFTER") != NULL && access(getenv("PROBE_AFTER"), F_OK) == 0) { probed = 1; probe(); }

int sigtimedwait(const sigset_t* set, siginfo_t* info, const struct timespec* timeout) {
  PROBED
  int (*real)(const sigset_t*, siginfo_t*, const struct timespec*) = dlsym(RTLD_NEXT, "sigtimedwait");
  return real(set, info, timeout);
}

int poll(struct pollfd* fds, nfds_t count, int timeout) {
  PROBED
  int (*real)(struct pollfd*, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
  return real(fds, count, timeout);
}

ssize_t read(int fd, void* bytes, size_t count) {
  PROBED
  ssize_t (*real)(int, void*, size_t) = dlsym(RTLD_NEXT, "read");
  return real(fd, bytes, count);
}
"""


@unittest.skipIf(VERSION <= 0, "the kernel of this machine has no Landlock")
class Landlock(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="pawl-landlock-", dir=scratch())
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.probe = f"{cls.place}/probe.so"
        source = pathlib.Path(cls.place, "probe.c")
        source.write_text(PROBE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", cls.probe, str(source)], check=True)

    def setUp(self):
        self.here = pathlib.Path(tempfile.mkdtemp(dir=self.place))

    def served(self, kind=Pawl, data=None, extra=()):
        pawl = kind(pawl_server.ServedTest.binary, data=data or str(self.here / "data"), extra=extra)
        self.addCleanup(lambda: pawl.process and pawl.process.poll() is None and pawl.kill())
        self.addCleanup(lambda: pawl.process and (pawl.process.stdout.close(), pawl.stderr.close()))
        return pawl

    def start_probed(self, pawl, *paths):
        """The names of the file with the results, and of the file that lets the threads begin."""
        report, after = self.here / "report", self.here / "after"
        variables = {"LD_PRELOAD": self.probe, "PROBE_REPORT": str(report), "PROBE_AFTER": str(after),
                     "PROBE_PATHS": ":".join(map(str, paths))}
        os.environ.update(variables)
        try:
            pawl.start()
        finally:
            for name in variables:
                del os.environ[name]
        return report, after

    def test_no_thread_writes_outside_of_the_data_directory(self):
        keys = self.here / "keys"
        keys.mkdir(mode=0o777)
        (keys / "keys.toml").touch(0o600)
        (keys / "keys.toml").write_text('[[key]]\nid = "AKIDPAWLTEST"\nsecret = "secretsecretsecret"\naccount = "111122223333"\n')
        for switch, denied in ("auto", 13), ("off", 0):
            with self.subTest(switch):
                pawl = self.served(data=str(self.here / f"data-{switch}"),
                                   extra=["--landlock", switch, "--shards", "2", "--auth", "sigv4", "--keys", str(keys / "keys.toml")])
                (self.here / "report").unlink(missing_ok=True)
                wanted = {str(keys): (denied, 0), "/tmp": (denied, denied), str(self.here): (denied, denied), pawl.data: (0, 0)}
                report, after = self.start_probed(pawl, *wanted)
                after.touch()
                pawl.process.send_signal(signal.SIGHUP)  # wakes each shard
                threads, deadline = {}, time.monotonic() + 20
                while time.monotonic() < deadline and sum(len(seen) == 4 for seen in threads.values()) < 3:
                    time.sleep(0.1)
                    for line in report.read_text().splitlines():
                        thread, path, _, write, _, read = line.split()
                        threads.setdefault(thread, {})[path] = (int(write), int(read))
                after.unlink()
                self.assertGreaterEqual(len(threads), 3, "the main thread and two shards")
                for thread, seen in threads.items():
                    self.assertEqual(seen, {path: wanted[path] for path in seen}, thread)
                self.assertEqual(pawl.stop(), 0)

    def test_renewed_keys_and_certificates_are_read_again_also_over_links(self):
        pawl = self.served(TlsPawl, data=str(self.here / "data"))
        live = self.here / "live"
        for version in "1", "2":
            (self.here / "archive" / version).mkdir(parents=True)
        live.mkdir()
        names = {"--keys": pawl.keys, "--tls-cert": pawl.certificate, "--tls-key": pawl.private_key}
        for flag, path in names.items():
            for version in "1", "2":
                shutil.copy2(path, self.here / "archive" / version / path.name)
            (live / path.name).symlink_to(pathlib.Path("..", "archive", "current", path.name))
            pawl.extra[pawl.extra.index(flag) + 1] = str(live / path.name)
        (self.here / "archive" / "current").symlink_to("1")
        pawl.start()

        def reload(words, times):
            pawl.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 10
            while pawl.errors().count(words) < times and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(pawl.errors().count(words), times, pawl.errors())

        reload("SIGHUP: access keys read again", 1)
        next_link = self.here / "archive" / "next"  # a new directory behind the same link
        next_link.symlink_to("2")
        next_link.rename(self.here / "archive" / "current")
        shutil.rmtree(self.here / "archive" / "1")
        reload("SIGHUP: access keys read again", 2)
        for path in names.values():  # a new file in place of the link
            renewed = live / (path.name + ".new")
            shutil.copy2(path, renewed)
            renewed.rename(live / path.name)
        reload("SIGHUP: access keys read again", 3)
        self.assertEqual(pawl.errors().count("SIGHUP: certificate and key read again"), 3)
        self.assertNotIn("SIGHUP: not ", pawl.errors())
        self.assertEqual(pawl.stop(), 0)

    def test_a_data_directory_with_a_log_on_another_disk_is_recovered(self):
        pawl = self.served(extra=["--shards", "2", "--unix", str(self.here / "socket" / "pawl.sock")])
        (self.here / "socket").mkdir()
        for again in range(3):
            pawl.start()
            json = Json(pawl)
            json.call("CreateQueue", QueueName="q")
            json.call("SendMessage", QueueUrl=f"{pawl.url}/000000000000/q", MessageBody=str(again))
            json.close()
            self.assertEqual(pawl.ready["recovered_messages"], again)
            self.assertEqual(pawl.kill() if again == 0 else pawl.stop(), -9 if again == 0 else 0)
            self.assertEqual((self.here / "socket" / "pawl.sock").exists(), again == 0)
            if again == 1:
                (self.here / "elsewhere").mkdir()
                shutil.move(f"{pawl.data}/s01", self.here / "elsewhere")
                os.symlink(self.here / "elsewhere" / "s01", f"{pawl.data}/s01")

    def test_a_development_server_deletes_its_directory(self):
        tmp = self.here / "tmp"
        tmp.mkdir()
        for switch in "auto", "off":
            server = subprocess.Popen([str(pathlib.Path(pawl_server.ServedTest.binary).resolve()), "serve", "--dev", "--landlock", switch],
                                      env=os.environ | {"TMPDIR": str(tmp)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertIn("ready", server.stdout.readline())
            self.assertEqual(len(list(tmp.iterdir())), 1)
            server.send_signal(signal.SIGTERM)
            _, errors = server.communicate(timeout=20)
            self.assertEqual((server.returncode, list(tmp.iterdir())), (0, []), errors)

    def test_a_wrong_value_is_refused(self):
        pawl = self.served(extra=["--landlock", "on"])
        with self.assertRaisesRegex(RuntimeError, r'ended with 2 .*--landlock: "on" is not valid. Expected auto\|off'):
            pawl.start()


@unittest.skipIf(VERSION <= 0, "the kernel of this machine has no Landlock")
class Absent(unittest.TestCase):
    def test_a_kernel_without_landlock_is_one_line(self):
        pawl = Pawl(pawl_server.ServedTest.binary)
        self.addCleanup(pawl.remove_data)
        sandboxed = str(pathlib.Path(__file__).with_name("sandboxed.py"))
        pawl.command = lambda: [sys.executable, sandboxed, "--no-landlock", pawl.binary, "serve"]
        pawl.start()
        self.assertEqual(pawl.stop(), 0)
        self.assertEqual(pawl.errors().count("has no Landlock"), 1, pawl.errors())
        pawl.extra = ["--log-format", "json"]
        pawl.start()
        self.assertEqual(pawl.stop(), 0)
        self.assertEqual(pawl.errors().count('"code":"landlock_absent"'), 1, pawl.errors())
        pawl.extra = ["--landlock", "off"]
        pathlib.Path(pawl.errors_file).unlink()
        pawl.start()
        self.assertEqual(pawl.stop(), 0)
        self.assertNotIn("Landlock", pawl.errors())


if __name__ == "__main__":
    main()
