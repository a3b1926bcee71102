#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Starts that cannot succeed, and signals that mean nothing: a sentence and an exit code, never an abort."""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, start_handed  # noqa: E402
from wal_fixture import call  # noqa: E402

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
PORTS = {"--http": "127.0.0.1:0", "--admin": "127.0.0.1:0", "--binary": "127.0.0.1:0"}
STRANGER = 54321  # a user with no other process; limits of processes do not hold for root
MIB = 1 << 20


class LimitedPawl(Pawl):
    def command(self):
        return ["bash", "-c", 'ulimit -n 1000; exec "$0" "$@"', *super().command()]


class Start(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="pawl-start-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.data = os.path.join(self.place, "data")

    def serve(self, ports=None, before=None, **more):
        words = [word for flag in {**PORTS, **(ports or {})}.items() for word in flag]
        return subprocess.run([PAWL, "serve", "--data", self.data, *words, *more.get("words", ())], preexec_fn=before,
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)

    def refused(self, done, code, *parts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        lines = done.stderr.splitlines()  # the last says why
        self.assertTrue(lines[-1].startswith("error: ") and len(lines) <= 3, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse(os.path.exists(self.data), "no data directory is made")

    def test_two_listeners_on_one_port_are_refused(self):
        with taken_port() as (port, holder):
            holder.close()
            one = f"127.0.0.1:{port}"
            self.refused(self.serve({"--http": one, "--admin": one}), 2, "--admin", "--http", one)
            self.refused(self.serve({"--http": one, "--binary": f"0.0.0.0:{port}"}, words=["--insecure-no-auth"]), 2, "--binary")
            self.refused(self.serve({"--http": one, "--binary": f"localhost:{port}"}), 1, "--binary", "choose another port")

    def test_a_handed_socket_that_does_not_fit_is_refused(self):
        def handed(sockets, *names):
            words = [word for flag in PORTS.items() for word in flag]
            process = start_handed([PAWL, "serve", "--data", self.data, *words], sockets, names, stderr=subprocess.PIPE)
            out, errors = process.communicate(timeout=60)
            return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

        with socket.create_server(("127.0.0.1", 0)) as loopback, socket.create_server(("0.0.0.0", 0)) as anywhere, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            self.refused(handed([loopback], "web"), 1, '"web" is unknown', "http, admin, binary or unix")
            self.refused(handed([datagrams], "http"), 1, "descriptor 3", "ListenStream=")
            self.refused(handed([loopback], "unix"), 1, "no Unix socket")
            self.refused(handed([loopback], "http", "binary"), 1, "descriptor 4", "it is closed")
            self.refused(handed([anywhere], "http"), 1, "without credentials", "--auth sigv4")

    def test_a_port_of_another_server_is_refused(self):
        with taken_port() as (port, _):
            self.refused(self.serve({"--admin": f"127.0.0.1:{port}"}), 1, f"--admin 127.0.0.1:{port}", "choose another port")

    def test_of_two_servers_at_once_on_one_port_only_one_is_refused(self):
        """Many times, as the two meet at different moments."""
        for _ in range(5):
            with taken_port() as (port, holder):
                holder.close()
                with tempfile.TemporaryDirectory() as place:
                    words = ["--http", f"127.0.0.1:{port}", "--admin", "127.0.0.1:0", "--binary", "127.0.0.1:0"]
                    both = [subprocess.Popen([PAWL, "serve", "--data", f"{place}/{i}", *words], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(2)]
                    ready = [server.stdout.readline() for server in both]
                    for server, line in zip(both, ready):
                        if line:
                            server.send_signal(signal.SIGTERM)
                    texts = [server.communicate(timeout=60)[1] for server in both]
                    self.assertEqual(sorted(server.returncode for server in both), [0, 1], texts)
                    refused = texts[0] if not ready[0] else texts[1]
                    self.assertRegex(refused, rf"^error: .*127\.0\.0\.1:{port}.*choose another port")

    def test_an_address_of_another_machine_is_named_as_such(self):
        self.refused(self.serve({"--http": "192.0.2.1:9324"}, words=["--insecure-no-auth"]), 1,
                     "192.0.2.1 is not an address of this machine")

    def test_a_limit_of_threads_is_a_sentence(self):
        os.chmod(self.place, 0o777)
        copy = os.path.join(self.place, "pawl")  # where the stranger may read it
        shutil.copy(PAWL, copy)

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            if os.geteuid() == 0:
                os.setgid(STRANGER)
                os.setuid(STRANGER)

        words = [word for flag in PORTS.items() for word in flag]
        done = subprocess.run([copy, "serve", "--data", self.data, *words], preexec_fn=limit, capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL, check=False)
        self.refused(done, 1, "cannot start", "threads", "ulimit -u")

    def test_a_limit_of_address_space_is_a_sentence(self):
        for mebibytes in (60, 100, 150):
            def limit(size=mebibytes * MIB):
                resource.setrlimit(resource.RLIMIT_AS, (size, size))
            self.refused(self.serve(before=limit), 1, "ulimit -v")
        self.refused(self.serve(before=limit, words=["--shards", "1"]), 1, "and 1 shard needs 192 MiB")

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (512 * MIB, 512 * MIB))
        self.refused(self.serve(before=limit, words=["--shards", "1", "--memory", "1GiB"]), 1, "--memory is 1024 MiB")

    def test_a_limit_of_connections_that_is_asked_for_and_cannot_be_had_is_a_warning(self):
        """20000 is the default too, which is lowered without a word."""
        for asked, warned in ((), False), (("20000",), True), (("300",), False):
            with self.subTest(asked=asked):
                words = ["--log-format", "json"] + [word for number in asked for word in ("--max-connections", number)]
                server = LimitedPawl(PAWL, data=self.data + "".join(asked), extra=words).start()
                self.addCleanup(lambda pawl=server: pawl.process.poll() is None and pawl.kill())
                server.stop()
                said = "the limit of connections is 718 instead of 20000: this process may open 1000 files" in server.errors()
                self.assertEqual((said, '"code":"connections_limited"' in server.errors()), (warned, warned), server.errors())

    def test_queues_of_an_account_that_is_not_served_are_named(self):
        one, other = "111111111111", "222222222222"
        server = Pawl(PAWL, data=self.data, extra=["--account", one]).start()
        for name in ("a", "b"):
            call(server, "CreateQueue", QueueName=name)
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("account", server.errors())
        server = Pawl(PAWL, data=self.data, extra=["--account", other, "--log-format", "json"]).start()
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.errors().count('"code":"account_not_served"'), 1, server.errors())
        self.assertIn(f"has 2 queues and topics of account {one}, which is not --account {other}", server.errors())
        self.assertIn(f"Start with --account {one}", server.errors())
        os.remove(server.errors_file)

    def test_signals_without_a_meaning_are_ignored(self):
        with Pawl(PAWL) as server:
            for name in ("SIGUSR1", "SIGALRM", "SIGPIPE"):
                server.process.send_signal(getattr(signal, name))
            status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            ignored = int(re.search(r"SigIgn:\t(\w+)", status)[1], 16)
            for name in ("SIGUSR1", "SIGALRM", "SIGPIPE"):
                self.assertTrue(ignored >> (getattr(signal, name) - 1) & 1, name)


@contextlib.contextmanager
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1], listener


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
