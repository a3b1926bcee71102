#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The `pawl` program as scripts and fingers meet it: exit codes, suggestions, settings."""

import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
KEYS = "[[key]]\nid = 'AKID'\nsecret = 'hush'\naccount = '111111111111'\n"
STRANGER = 54321  # a user with no other process
VERBS = ["serve", "bench", "config", "check", "doctor", "wal", "queue", "send", "receive", "delete", "extend", "cancel", "reschedule", "dlq", "topic", "move",
         "peek", "explain", "top", "metrics", "schedule", "replay", "errors", "version"]


def pawl(*words, **environment):
    return subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment}, check=False)


class CommandLine(unittest.TestCase):
    def refused(self, done, *parts):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_every_verb_has_help_and_the_top_lists_them(self):
        top = pawl("--help")
        self.assertEqual(top.returncode, 0)
        for verb in VERBS:
            self.assertRegex(top.stdout, rf"\n  {verb} ")
            done = pawl(verb, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"Usage: pawl {verb}", done.stdout)
            self.assertEqual(pawl("help", verb).stdout, done.stdout)

    def test_usage_errors_are_2_and_name_the_word(self):
        self.refused(pawl(), "See `pawl --help`")
        self.refused(pawl("wal"), "See `pawl wal --help`")
        self.refused(pawl("zzzzzz"), '"zzzzzz"')
        self.refused(pawl("serve", "extra"), '"extra"')
        self.refused(pawl("doctor", "--data"), "--data")

    def test_mistyped_words_get_a_suggestion(self):
        self.refused(pawl("serv"), 'Did you mean "serve"?')
        self.refused(pawl("serve", "--htpp", "x"), 'Did you mean "--http"?')
        self.refused(pawl("serve", "--shard=2"), 'Did you mean "--shards"?')
        self.refused(pawl("wal", "verfy"), 'Did you mean "verify"?')

    def test_nineteen_of_twenty_typos_are_understood(self):
        luck = random.Random(7)
        right = 0
        typos = 60
        for _ in range(typos):
            word = luck.choice(["serve", "bench", "doctor", "version"])
            at = luck.randrange(1, len(word))
            typo = luck.choice([word[:at] + word[at + 1:], word[:at] + luck.choice("abcxyz") + word[at:],
                                word[:at - 1] + word[at] + word[at - 1] + word[at + 1:]])
            right += typo == word or f'"{word}"' in pawl(typo).stderr
        self.assertGreaterEqual(right, typos * 0.95)

    def test_version_is_the_same_both_ways(self):
        first = pawl("version").stdout.splitlines()[0]
        self.assertRegex(first, r"^pawl \d+\.\d+\.\d+$")
        self.assertEqual(pawl("--version").stdout.strip(), first)

    def test_addresses_that_others_reach_are_refused_without_credentials(self):
        for flag in ("--http", "--binary"):
            self.refused(pawl("serve", flag, "0.0.0.0:0"), "cannot bind 0.0.0.0:0 without credentials", flag)
        self.refused(pawl("serve", "--http", "[::]:0"), "without credentials", "--auth sigv4 --keys FILE")
        with tempfile.TemporaryDirectory() as place:
            keys = self.keys(place, KEYS)
            self.refused(pawl("serve", "--http", "127.0.0.1:0", "--http", "0.0.0.0:0"), "cannot bind 0.0.0.0:0 without credentials")
            with Pawl(PAWL, extra=["--auth", "sigv4", "--keys", keys, "--http", "0.0.0.0:0", "--log-format", "json"]) as server:
                self.assertTrue(server.ready["http"].startswith("0.0.0.0:"))
                self.assertIn('"code":"exposed_without_tls"', server.errors())

    def keys(self, place, text, mode=0o600):
        path = os.path.join(place, "keys.toml")
        pathlib.Path(path).write_text(text)
        os.chmod(path, mode)
        return path

    def test_a_key_file_of_root_may_be_readable_by_a_group_of_the_server(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become another user")
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            home = pathlib.Path(place, "home")
            home.mkdir()
            os.chown(home, STRANGER, STRANGER)
            for group, mode, served in ((STRANGER, 0o440, True), (STRANGER, 0o640, True), (STRANGER, 0o660, False),
                                        (STRANGER, 0o444, False), (0, 0o440, False)):
                keys = self.keys(place, KEYS, mode)
                os.chown(keys, 0, group)
                done = subprocess.run([PAWL, "serve", "--data", home / "no" / "parent", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                                       "--binary", "127.0.0.1:0", "--auth", "sigv4", "--keys", keys], check=False, capture_output=True,
                                      text=True, timeout=60, user=STRANGER, group=STRANGER, extra_groups=[])
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("cannot create data directory" if served else keys, done.stderr, (group, oct(mode)))

    def test_what_is_wrong_with_a_key_file_is_said_with_its_line_and_without_its_secrets(self):
        with tempfile.TemporaryDirectory() as place:
            def serve(text, *parts, mode=0o600):
                keys = self.keys(place, text, mode)
                done = pawl("serve", "--data", place + "/data", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                            "--binary", "127.0.0.1:0", "--auth", "sigv4", "--keys", keys)
                self.assertEqual(done.returncode, 1, done)
                self.assertTrue(done.stderr.startswith("error: "), done.stderr)
                for part in (keys, *parts):
                    self.assertIn(part, done.stderr)
                self.assertNotIn("hush", done.stderr)

            serve(KEYS, "chmod 600", mode=0o640)
            serve(KEYS, "chmod 600", mode=0o604)
            serve("", "there is no key in it")
            serve("[[key]]\nid = 'A'\nsecret = 'hush'\n", "keys.toml:1:1", "no account")
            serve("[[key]]\nid = 'A'\nsecret = 'hush'\nacount = '1'\n", "keys.toml:4:1", 'Did you mean "account"?')
            serve("[[key]]\nid = 'A'\nsecret = 'hush'\naccount = 111111111111\n", "keys.toml:4:", "in quotes")
            serve("[[key]]\nid = 'A'\nsecret = 'hush'\naccount = '1111'\n", "keys.toml:1:1", "12 digits")
            serve("[[key]]\nid = 'A b'\nsecret = 'hush'\naccount = '111111111111'\n", "keys.toml:1:1")
            serve(KEYS + KEYS, "keys.toml:5:1")
            serve("[key]\nid = 'A'\n", "keys.toml:1:", "[[key]]")
            serve("[[keys]]\nid = 'A'\n", "keys.toml:1:", "[[key]]")
            serve("[[key]\n", "keys.toml:")
            self.refused(pawl("serve", "--auth", "sigv4"), "--keys FILE")
            self.refused(pawl("serve", "--keys", place + "/keys.toml"), "--auth sigv4")
            self.assertFalse(os.path.exists(place + "/data"), "nothing is made before everything is right")

    def test_tls_wants_both_files_and_says_which_is_wrong(self):
        self.refused(pawl("serve", "--tls-cert", "c.pem"), "--tls-cert is given without --tls-key")
        self.refused(pawl("serve", "--tls-key", "k.pem"), "--tls-key is given without --tls-cert")
        done = pawl("serve", "--tls-cert", "/none/c.pem", "--tls-key", "/none/k.pem", "--http", "127.0.0.1:0")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("--tls-cert /none/c.pem: No such file", done.stderr)

    def test_settings_that_repeat_are_taken_from_everywhere(self):
        def status(server, host):
            connection = http.client.HTTPConnection(server.ready["http"])
            connection.request("GET", "/", headers={"Host": host})
            answer = connection.getresponse().status
            connection.close()
            return answer

        with tempfile.TemporaryDirectory() as place:
            config = os.path.join(place, "pawl.toml")
            pathlib.Path(config).write_text("[listen]\nallow-host = ['a.example', 'b.example']\n")
            with Pawl(PAWL, extra=["--config", config]) as server:
                self.assertEqual([status(server, host) for host in ("a.example", "b.example:1", "c.example")],
                                 [200, 200, 403])
            with Pawl(PAWL, extra=["--config", config, "--allow-host", "c.example", "--allow-host", "d.example"]) as server:
                self.assertEqual([status(server, host) for host in ("a.example", "c.example", "d.example")],
                                 [403, 200, 200])
        self.refused(pawl("serve", "--allow-host", "a b"), "--allow-host")
        self.refused(pawl("serve", PAWL_LISTEN_TRUSTED_PROXY="10.0.0.0/8,10.0.0.0/40"), "PAWL_LISTEN_TRUSTED_PROXY")
        self.refused(pawl("serve", "--allow-origin", "evil.example"), "--allow-origin")
        self.refused(pawl("serve", "--max-connections", "0"), "--max-connections")

    def test_a_hangup_reads_the_keys_again_and_a_broken_file_changes_nothing(self):
        with tempfile.TemporaryDirectory() as place:
            keys = self.keys(place, KEYS)
            with Pawl(PAWL, extra=["--auth", "sigv4", "--keys", keys]) as server:
                def hang_up(until):
                    server.process.send_signal(signal.SIGHUP)
                    for _ in range(200):
                        if until in server.errors():
                            return
                        time.sleep(0.05)
                    self.fail(server.errors())

                self.keys(place, KEYS.replace("hush", "hush2"))
                hang_up("access keys read again")
                self.keys(place, "[[key]]\n")
                hang_up("stay as they were: " + keys + ":1:1")
                self.assertNotIn("hush", server.errors())

    def test_a_second_signal_ends_a_drain_at_once(self):
        def ask(server, action, **members):
            request = urllib.request.Request(server.url, json.dumps(members).encode(), {
                "X-Amz-Target": f"AmazonSQS.{action}", "Content-Type": "application/x-amz-json-1.0"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.loads(answer.read() or b"null")

        def received_of(server, url):
            name = "ApproximateNumberOfMessagesNotVisible"
            return int(ask(server, "GetQueueAttributes", QueueUrl=url, AttributeNames=[name])["Attributes"][name])

        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)):
            server = Pawl(PAWL)
            server.start()
            url = ask(server, "CreateQueue", QueueName="q")["QueueUrl"]
            for _ in range(12):
                ask(server, "SendMessage", QueueUrl=url, MessageBody="m" * 1048576)
            # A peer that does not read its answers delays the drain, 15 seconds at most. The kernel
            # buffers 2 to 6 MiB; when no more messages are received, one answer is stuck.
            host, port = server.ready["http"].rsplit(":", 1)
            body = json.dumps({"QueueUrl": url}).encode()
            with socket.socket() as stuck:
                stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                stuck.connect((host, int(port)))
                stuck.sendall(12 * (b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
                                    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%s"
                                    % (len(body), body)))
                before, received = -1, 0
                while received == 0 or received != before:
                    time.sleep(0.3)
                    before, received = received, received_of(server, url)
                self.assertLess(received, 12)
                server.process.send_signal(first)
                for _ in range(200):
                    if "a second signal" in server.errors():
                        break
                    time.sleep(0.05)
                self.assertIsNone(server.process.poll(), "it waits for the peer")
                server.process.send_signal(second)
                self.assertEqual(server._gone(20), 1)
            with Pawl(PAWL, data=server.data) as again:
                self.assertEqual(again.ready["recovered_messages"], 12)

    def test_an_account_has_so_many_queues_and_no_more(self):
        with Pawl(PAWL, extra=["--max-queues-per-account", "2"]) as server:
            def create(name):
                request = urllib.request.Request(
                    server.url, urllib.parse.urlencode({"Action": "CreateQueue", "QueueName": name}).encode())
                try:
                    with urllib.request.urlopen(request, timeout=20) as answer:
                        return answer.status, ""
                except urllib.error.HTTPError as refused:
                    return refused.code, refused.read().decode()

            self.assertEqual([create("a")[0], create("b")[0], create("a")[0]], [200, 200, 200])
            status, text = create("c")
            self.assertEqual(status, 403, text)
            self.assertIn("<Code>OverLimit</Code>", text)
            self.assertIn("--max-queues-per-account", text)

    def test_values_are_checked_and_the_place_they_came_from_is_named(self):
        with tempfile.TemporaryDirectory() as place:
            data = os.path.join(place, "data")
            config = os.path.join(place, "pawl.toml")

            def serve(text, *words, **environment):
                pathlib.Path(config).write_text(text)
                return pawl("serve", "--data", data, "--config", config, *words, **environment)

            self.refused(pawl("serve", "--shards", "65"), "--shards", '"65"', "1 to 64")
            self.refused(pawl("serve", "--poll", "sometimes"), "--poll", "always|auto|never")
            self.refused(pawl("serve", "--memory", "4GB"), "--memory", '"4GB"')
            self.refused(pawl("serve", PAWL_SQS_ACCOUNT="12"), "PAWL_SQS_ACCOUNT", '"12"')
            self.refused(serve("[listen]\nhtp = 'x'\n"), f"{config}:2:1", 'Did you mean "http"?')
            self.refused(serve("[listn]\n"), f"{config}:1:2", 'Did you mean "listen"?')
            self.refused(serve("[listen]\nhttp = '127.0.0.1'\n"), f"{config}:2:8", "ADDR:PORT")
            self.refused(serve("[server]\nshards = [1]\n"), f"{config}:2:10", "a string or a whole number")
            self.refused(serve("[server\n"), f"{config}:")
            self.refused(serve("server = 1\n"), f"{config}:1:")
            self.refused(pawl("serve", "--config", place + "/none.toml"), "none.toml", "cannot be read")
            # A flag wins over a variable, a variable over the file; the complaint names the winner.
            self.refused(serve("[server]\npoll = 'a'\n", PAWL_SERVER_POLL="b"), '"b"')
            self.refused(serve("[server]\npoll = 'a'\n", "--poll", "c", PAWL_SERVER_POLL="b"), '"c"')
            self.assertFalse(os.path.exists(data), "nothing is made before everything is right")

    def test_doctor_prints_findings_as_json_and_as_a_table(self):
        done = pawl("doctor", "--seconds", "0.05", "--json", "--data", os.path.dirname(PAWL))
        self.assertIn(done.returncode, (0, 4))
        findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
        self.assertEqual(done.returncode == 4, any(f["status"] == "fail" for f in findings.values()))
        self.assertRegex(findings["durable write"]["what"], r"p50 \d+ us, p99 \d+ us")
        self.assertGreater(findings["write at rest"]["p50_us"], 0)
        self.assertLessEqual(findings["write at rest"]["p99_us"], findings["write at rest"]["p999_us"])
        self.assertIs(findings["io_uring"]["allowed"], findings["io_uring"]["status"] == "ok")
        described = pawl("doctor", "--help").stdout
        self.assertIn("{name, status, what, remedy}", described)
        for member in set().union(*findings.values()) - {"name", "status", "what", "remedy"}:
            self.assertIn(f'"{member}"', described)
        self.refused(pawl("doctor", "-o", "xml"), '"xml"', "table, json or jsonl")
        self.refused(pawl("doctor", "-o", "json", "--json"), "--json")
        lines = pawl("doctor", "--seconds", "0", "-o", "jsonl").stdout.splitlines()
        self.assertIn("io_uring", [json.loads(line)["name"] for line in lines])
        table = pawl("doctor", "--seconds", "0", "--data", os.path.dirname(PAWL))
        self.assertTrue(re.search(r"^(ok|warn|fail) +io_uring ", table.stdout, re.M), table.stdout)
        self.assertTrue(re.search(r"^(ok|warn) +preallocation +(not )?allowed: ", table.stdout, re.M), table.stdout)
        self.assertNotRegex(table.stdout, r"(?m)^ok .* not allowed: ")

    def test_check_health_asks_whether_the_server_is_ready(self):
        with Pawl(PAWL) as server:
            admin = server.ready["admin"]
            done = pawl("check", "health", "--admin", admin)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, "ok\n")
            done = pawl("check", "health", PAWL_LISTEN_ADMIN="0.0.0.0:" + admin.split(":")[1])
            self.assertEqual(done.returncode, 0, done.stderr)
        done = pawl("check", "health", "--admin", admin)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"Is `pawl serve` running with --admin {admin}?", done.stderr)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            done = pawl("check", "health", "--admin", "127.0.0.1:%d" % silent.getsockname()[1], "--timeout", "100")
            self.assertEqual(done.returncode, 1)
            self.assertIn("did not respond within 100 ms", done.stderr)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve_one_page():
                connection, _ = listener.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nIt works\n")
            thread = threading.Thread(target=serve_one_page)
            thread.start()
            done = pawl("check", "health", "--admin", "127.0.0.1:%d" % listener.getsockname()[1])
            thread.join()
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("does not respond to /readyz like a server of pawl (HTTP 200)", done.stderr)
        self.refused(pawl("check", "healht"), 'Did you mean "health"?')
        self.refused(pawl("check", "health", "--timeout", "0"), "--timeout")

    def test_bench_loads_a_queue_and_prints_its_figures_as_json(self):
        with Pawl(PAWL) as server:
            done = pawl("bench", "e2e", "--url", server.url + "/000000000000/bench", "--create", "--seconds", "0.3", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            figures = json.loads(done.stdout.splitlines()[-1])
            self.assertGreater(figures["messages"], 0)
            self.assertEqual(figures["errors"], 0)
            done = pawl("bench", "send", "--binary", server.ready["binary"], "--create", "--seconds", "0.3", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(json.loads(done.stdout.splitlines()[-1])["messages"], 0)
        gone = pawl("bench", "send", "--binary", server.ready["binary"], "--seconds", "0.3")
        self.assertEqual(gone.returncode, 1, gone.stderr)
        self.refused(pawl("bench", "send", "--url", "http://x/1/q", "--binary", "x:1"))

    def test_bench_writes_a_report_and_compares_results(self):
        with Pawl(PAWL) as server, tempfile.TemporaryDirectory() as directory:
            results = []
            for name in "a", "b":
                done = pawl("bench", "send", "--binary", server.ready["binary"], "--create", "--rounds", "5", "--seconds", "0.1",
                            "--warm-up", "0.1", "--json", "--html", f"{directory}/{name}.html", "--hgrm", f"{directory}/{name}.hgrm",
                            "--data", directory)
                self.assertEqual(done.returncode, 0, done.stderr)
                results.append(pathlib.Path(directory, f"{name}.json"))
                results[-1].write_text(done.stdout)
                result = json.loads(done.stdout)
                self.assertEqual(len(result["rounds"]), 5)
                self.assertIn(" on ", result["machine"]["file_system"])
                self.assertIn("<svg ", pathlib.Path(directory, f"{name}.html").read_text())
                self.assertEqual(sorted(path.name for path in pathlib.Path(directory).glob(f"{name}*.hgrm")),
                                 [f"{name}.hgrm"] + [f"{name}.round-00{number}.hgrm" for number in range(1, 6)])
            compared = pawl("bench", "compare", *map(str, results))
            self.assertEqual(compared.returncode, 0, compared.stderr)
            self.assertRegex(compared.stdout, r"5 and 5 rounds.*\nmessages/s .* B/A [0-9.]+ \([0-9.]+ to [0-9.]+\)")

    def test_replay_checks_what_it_is_given_before_it_asks_anybody(self):
        self.refused(pawl("replay"), "See `pawl replay --help`")
        self.refused(pawl("replay", "strat"), 'Did you mean "start"?')
        for action in ("start", "list", "cancel"):
            self.refused(pawl("replay", action), "QUEUE or --queue", f"See `pawl replay {action} --help`")
            number = ("--task", "1") if action == "cancel" else ()
            self.refused(pawl("replay", action, "q", *number, "--queue", "q"), "QUEUE or --queue takes one value", "Give it once")
            self.refused(pawl("replay", action, "q", *number, "--url", "127.0.0.1:0"), "127.0.0.1:0")
            self.refused(pawl("replay", action, "q", *number, "--binary", "127.0.0.1:9326"), '"--binary"', "--url http://HOST:PORT")
        self.refused(pawl("replay", "cancel", "q"), "--task")
        self.refused(pawl("replay", "cancel", "--queue", "q", "--task", "0"), "--task")
        self.refused(pawl("replay", "list", "q", "--task", "1"), '"--task"')

        def start(*words):
            return pawl("replay", "start", "q", *words)

        for flag in ("--from", "--to"):
            for bad in ("", "now", "5", "h", "5w", "5 m", "1.5h", "1234567890s", "2026-11-22", "2026-11-22T10:00:00",
                        "2026-11-22T10:00:00+25:00", "2026-11-22 10:00:00Z", "2026-02-30T10:00:00Z", "2026-11-22T24:00:00Z",
                        "2026-11-22T10:60:00Z", "2026-11-22T10:00:00.Z", "1969-12-31T23:59:59Z", "99999d"):
                self.refused(start(flag, bad), flag, f'"{bad}"', "2026-11-22T10:00:00Z")
        self.refused(start("--from", "1h", "--to", "2h"), "--from 1h is not before --to 2h")
        self.refused(start("--from", "9999-01-01T00:00:00Z"), "is not before now")
        self.refused(start("--from", "2026-01-01T00:00:00.5Z", "--to", "2026-01-01T00:00:00.5Z"), "is not before")
        self.refused(start("--rate", "1000001"), "--rate")
        self.refused(start("--rate", "-1"), "--rate")
        self.refused(start("--filter", "{"), "--filter", "failed to parse JSON")
        self.refused(start("--filter", '{"colour": "red"}'), "--filter", "must be an object or an array")
        self.refused(start("--filter", '{"colour": ["%s"]}' % ("x" * 4096)), "--filter", "4096")

    def test_replay_names_the_address_that_it_cannot_reach(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            nobody = "http://127.0.0.1:%d" % listener.getsockname()[1]
        good = (("--from", "90s"), ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:00:00.001Z"), ("--to", "15m"),
                ("--from", "3d", "--to", "2h"), ("--filter", '{"colour": ["red"]}', "--rate", "0", "--into", "r"))
        for words in good:
            done = pawl("replay", "start", "q", "--url", nobody, *words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done)
            self.assertIn(f"error: cannot reach {nobody}: Connection refused", done.stderr)
        done = pawl("replay", "list", "--queue", "q", "--url", "http://nobody.invalid:9324")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("error: cannot reach http://nobody.invalid:9324", done.stderr)

    def test_wal_of_a_directory_without_a_log_is_not_found(self):
        with tempfile.TemporaryDirectory() as place:
            for action in ("dump", "verify"):
                done = pawl("wal", action, place)
                self.assertEqual(done.returncode, 3)
                self.assertIn(place, done.stderr)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
