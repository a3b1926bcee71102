#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong uses of the program, one row each: exit code, the value named, the remedy named, no raw library text."""

import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, TlsPawl  # noqa: E402
from wal_fixture import call  # noqa: E402

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
RAW = r"subcommand|is required|\d required|[Nn]ot in range|Could not convert|At Most|\d{20}|terminate called|CHECK\(|basic_string"
TEXT_MAX = 900
FREE = ["--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--binary", "127.0.0.1:0"]
NOBODY = "127.0.0.1:1"

# Words, exit code, parts of the text. {data} is a directory that does not exist, {file} a file,
# {dir} a directory.
ROWS = [
    # no verb, or another program's
    ("", 2, "pawl needs a verb", "serve, bench, config, check, doctor, wal, queue, send, receive, delete, extend, cancel, reschedule, dlq, topic, move, peek, explain, top, metrics, schedule, replay, errors, version"),
    ("wal", 2, "pawl wal needs a verb", "dump, verify, repair"),
    ("replay", 2, "pawl replay needs a verb", "start"),
    ("bench", 2, "pawl bench needs a verb", "send, receive, e2e"),
    ("errors disk_ful", 2, "no code of an event", 'Did you mean "disk_full"?'),
    ("errors a b", 2, '"b"'),
    ("status", 2, '"status"', "/healthz"),
    ("stop", 2, '"stop"', "SIGTERM"),
    ("restart", 2, '"restart"', "SIGHUP", "pawl serve"),
    ("start", 2, '"start"', "pawl serve"),
    ("create", 2, '"create"', "pawl queue create"),
    ("publish", 2, '"publish"', "pawl send QUEUE BODY", "pawl topic"),
    ("move", 2, "pawl move needs", "--queue"),
    ("move q", 2, "--to"),
    ("move q --from x://y --to http://127.0.0.1:1", 2, '"x://y"'),
    ("move q --from http://127.0.0.1:1 --to http://127.0.0.1:1", 1, NOBODY),
    ("move q --to http://127.0.0.1:1 --visibility 0", 2, "--visibility", '"0"', "1 to 43200"),
    ("migrate", 2, '"migrate"', "pawl move"),
    ("topic", 2, "pawl topic needs a verb", "create, ls, info, rm, subscribe, unsubscribe, subscriptions, publish"),
    ("topic create", 2, "pawl topic create needs TOPIC or --topic"),
    ("topic create t --set x", 2, '"x"', "NAME=VALUE"),
    ("topic subscribe t", 2, "pawl topic subscribe needs QUEUE or --queue"),
    ("topic subscribe t q --filter {{", 2, "--filter", "JSON object"),
    ("topic subscribe t q --filter-scope Body", 2, "--filter-scope", '"Body"', "MessageAttributes or MessageBody"),
    ("topic subscribe t q --filter-scope MessageBody", 2, "--filter JSON"),
    ("topic publish t", 2, "BODY", "--file FILE"),
    ("topic ls --url http://127.0.0.1:1", 1, NOBODY),
    ("consume", 2, '"consume"', "pawl receive QUEUE"),
    ("send q m --ttl 0", 2, "--ttl", '"0"', "1 ms to 14 days", "30s"),
    ("queue", 2, "pawl queue needs a verb", "create, ls, info, set, purge, rm, apply"),
    ("queue show orders", 2, 'pawl queue has no verb "show"', "Its verbs: create, ls, info"),
    ("check server", 2, 'pawl check has no verb "server"', "Its verbs: health, queues"),
    ("help nosuch", 2, 'pawl has no verb "nosuch"', "Its verbs: serve, bench"),
    ("help queue nosuch", 2, 'pawl queue has no verb "nosuch"', "Its verbs: create"),
    ("config check --config {file}", 2, "without a flag: `pawl config check FILE`"),
    ("queue apply", 2, "pawl queue apply needs FILE or --file", "TOML file"),
    ("queue apply {data}", 2, "{data}", "cannot be read"),
    ("metrics", 2, "pawl metrics needs a verb", "ls"),
    ("metrics ls --metrics-queues x", 2, "--metrics-queues", '"x"', "0 to 100000"),
    ("metrics ls --admin {}".format(NOBODY), 1, NOBODY, "admin port"),
    ("schedule", 2, "pawl schedule needs a verb", "next"),
    ("schedule list", 2, 'pawl schedule has no verb "list"', "Its verbs: create, ls, pause, resume, run-now, rm, next"),
    ("schedule create", 2, "pawl schedule create needs NAME or --name"),
    ("schedule create s", 2, "pawl schedule create needs EXPRESSION or --expression"),
    ("schedule create a/b rate(1hour) --queue q", 2, '"a/b" is no name', "1 to 64 letters"),
    ("schedule create s daily --queue q", 2, '"daily"', "rate(5 minutes)"),
    ("schedule create s at(2027-01-01T00:00:00)", 2, "--queue QUEUE", "--topic TOPIC"),
    ("schedule create s at(2027-01-01T00:00:00) --queue q.fifo", 2, '"q.fifo" is a FIFO queue', "--message-group GROUP"),
    ("schedule create s at(2027-01-01T00:00:00) --queue q --zone Mars/Base", 2, "--zone", '"Mars/Base"'),
    ("schedule create s at(2027-01-01T00:00:00) --queue q --start soon", 2, "--start", '"soon"', "2026-12-24T18:00:00Z"),
    ("schedule create s at(2027-01-01T00:00:00) --queue q --end 5m", 2, "--end", '"5m"', "2026-12-24T18:00:00Z"),
    ("schedule create s at(2027-01-01T00:00:00) --queue q --catch-up some", 2, "--catch-up", '"some"', "none, last or all"),
    ("schedule create s at(2027-01-01T00:00:00) --queue q --overlap no", 2, "--overlap", '"no"', "allow or skip"),
    ("schedule create s at(2027-01-01T00:00:00) --queue q --url http://" + NOBODY, 1, NOBODY),
    ("schedule ls --group a/b", 2, "--group", '"a/b"', "letters"),
    ("schedule ls --url http://" + NOBODY, 1, NOBODY, "Is the server running"),
    ("schedule pause", 2, "pawl schedule pause needs NAME or --name"),
    ("schedule resume s --url http://" + NOBODY, 1, NOBODY),
    ("schedule run-now s --url http://" + NOBODY, 1, NOBODY),
    ("schedule rm s --yes", 2, '"--yes"'),
    ("pause", 2, '"pause"', "pawl schedule create|ls|pause"),
    ("schedule next", 2, "pawl schedule next needs EXPRESSION or --expression"),
    ("schedule next daily", 2, '"daily"', "rate(5 minutes)", "cron(0 9 * * ? *)"),
    ("schedule next rate(5)", 2, 'the unit of rate is ""', "minutes"),
    ("schedule next rate(1day)", 2, "the value of rate is", "rate(5 minutes)"),
    ("schedule next at(2026-02-30T09:00:00)", 2, '"2026-02-30T09:00:00"', "a day and a time that exist"),
    ("schedule next cron()", 2, "six fields", "has 0"),
    ("schedule next at(2027-01-01T00:00:00) --zone Europe/Berln", 2, "--zone", '"Europe/Berln"', 'Did you mean "Europe/Berlin"?'),
    ("schedule next at(2027-01-01T00:00:00) --count 0", 2, "--count", '"0"', "1 to 10000"),
    ("schedule next at(2027-01-01T00:00:00) --from noon", 2, "--from", '"noon"', "2026-11-22T10:00:00Z"),
    ("schedule next at(2027-01-01T00:00:00) --nonexistent later", 2, "--nonexistent", '"later"', "next or skip"),
    ("cron", 2, '"cron"', "pawl schedule next"),
    ("dlq", 2, "pawl dlq needs a verb", "ls, show, redrive, tasks, cancel"),
    ("dlq show", 2, "pawl dlq show needs QUEUE or --queue"),
    ("dlq show q -n 0", 2, "--count", '"0"', "1 to 1000000"),
    ("dlq show q --url http://127.0.0.1:1", 1, NOBODY),
    ("config", 2, "pawl config needs a verb", "show, check, diff"),
    ("settings", 2, '"settings"', "pawl config show"),
    ("config check", 2, "pawl config check needs FILE or --file", "TOML file"),
    ("config check {data}", 1, "{data}", "cannot be read"),
    ("config check {dir}", 1, "{dir}", "is a directory"),
    ("config diff {file} --admin " + NOBODY, 1, NOBODY, "Is `pawl serve` running with --admin"),
    ("config diff {data}", 1, "{data}", "cannot be read"),
    ("config show --config {data}", 2, "{data}", "cannot be read"),
    ("config show --shards 65", 2, "--shards", '"65"', "1 to 64"),
    ("config show -o xml", 2, '"xml"', "table, json or jsonl"),
    ("verify", 2, '"verify"', "pawl wal verify"),
    ("-v", 2, '"-v"', "--version"),
    # flags of other programs
    ("serve --port 9324", 2, '"--port"', "--http ADDR:PORT"),
    ("serve -p 9324", 2, '"-p"', "--http ADDR:PORT"),
    ("serve --bind 127.0.0.1", 2, '"--bind"', "--http ADDR:PORT"),
    ("serve --listen 127.0.0.1:1", 2, '"--listen"', "--http ADDR:PORT"),
    ("serve --host 127.0.0.1", 2, '"--host"', "--http ADDR:PORT"),
    ("serve --data-dir /x", 2, '"--data-dir"', "--data DIR"),
    ("serve --threads 2", 2, '"--threads"', "--shards N"),
    ("serve --log-level debug", 2, '"--log-level"', "stderr"),
    ("bench send --endpoint-url http://x", 2, '"--endpoint-url"', "--url"),
    # values that are missing, or given twice
    ("serve --http", 2, "--http", "ADDR:PORT"),
    ("serve --http=", 2, "--http", "ADDR:PORT"),
    ("serve --keys", 2, "--keys", "FILE"),
    ("serve --admin 127.0.0.1:0 --admin 127.0.0.1:1", 2, "--admin", "once"),
    ("wal verify", 2, "pawl wal verify needs", "data directory"),
    ("wal repair", 2, "pawl wal repair needs", "data directory"),
    ("replay start", 2, "--queue"),
    ("replay cancel --queue q", 2, "--task"),
    # values that do not fit
    ("serve --memory 0", 2, "--memory", '"0"', "32MiB"),
    ("serve --memory 1MiB", 2, "--memory", '"1MiB"', "32MiB"),
    ("serve --base-url http://", 2, "--base-url", '"http://"', "https://queues.example"),
    ("serve --base-url queues.example", 2, "--base-url", '"queues.example"', "https://queues.example"),
    ("serve --config {dir}", 2, "{dir}", "is a directory", "TOML file"),
    ("serve --config {data}", 2, "{data}", "TOML file"),
    ("serve --shards 0", 2, "--shards", '"0"', "1 to 64"),
    ("serve --shards x", 2, "--shards", '"x"', "1 to 64"),
    ("serve --max-connections 0", 2, "--max-connections", '"0"', "1 to 1000000"),
    ("serve --unix pawl.sock", 2, "--unix", '"pawl.sock"', "Absolute path"),
    ("serve --unix-mode 900", 2, "--unix-mode", '"900"', "600 to 777"),
    ("serve --unix-mode 400", 2, "--unix-mode", '"400"', "600 to 777"),
    ("serve --account 12", 2, "--account", '"12"', "12 digits"),
    ("serve --http 127.0.0.1", 2, "--http", "ADDR:PORT", "127.0.0.1:9324"),
    ("serve --http 127.0.0.1:99999", 2, '"127.0.0.1:99999"', "ADDR:PORT"),
    ("top --sort size", 2, "--sort", '"size"', "state, queue, visible"),
    ("top --interval 0", 2, "--interval", '"0"', "0.1 to 3600"),
    ("top -n 0", 2, "--count", '"0"', "whole number from 1"),
    ("check queues --url x://y", 2, '"x://y"'),
    ("check --timeout 0", 2, "--timeout", '"0"'),
    ("check --admin {}".format(NOBODY), 1, NOBODY, "pawl serve"),
    ("bench send --rate -1", 2, "--rate", '"-1"', "0 to"),
    ("bench send --seconds 0", 2, "--seconds", '"0"', "86400"),
    ("bench send --seconds 1e999", 2, "--seconds", '"1e999"', "86400"),
    ("bench send --batch 0", 2, "--batch", '"0"', "1 to 1024"),
    ("bench send --batch x", 2, "--batch", '"x"', "1 to 1024"),
    ("bench send --messages x", 2, "--messages", '"x"'),
    ("bench send --ramp 5:1:3", 2, "5:1:3", "1000:64000:7"),
    ("bench send --ramp 1:5:3 --rate 5", 2, "--ramp sets the rates"),
    ("bench send --threads 2", 2, "--threads must be 1 to 64", "--connections"),
    ("bench send --threads 65", 2, "--threads", '"65"', "1 to 64"),
    ("bench send --rounds 2 --messages 10", 2, "--messages", "--rounds"),
    ("bench send --cleanup", 2, "--create"),
    ("bench send --once --url http://127.0.0.1:1/0/q", 2, "--once", "--binary"),
    ("bench receive --once", 2, "--once"),
    ("bench e2e --verify --body 31", 2, "--body must be at least 32"),
    ("bench compare a.json", 2, "B"),
    ("bench compare /no/a.json /no/b.json", 1, "cannot read /no/a.json", "--json"),
    ("bench send --url foo", 2, "foo", "http://host:port/account/queue"),
    ("bench send --url http://127.0.0.1:1/0/q --queue other", 2, "other", "http://127.0.0.1:1/0/q", "one place"),
    ("bench send --url http://127.0.0.1:1/x", 2, "http://127.0.0.1:1/x", "http://host:port/account/queue"),
    ("bench send --binary foo", 2, "foo", "host:port"),
    ("bench send --queue q.fifo --binary " + NOBODY, 2, "q.fifo", "--url"),
    ("doctor --seconds -1", 2, "--seconds", '"-1"', "0 to 600"),
    ("doctor --shards 65", 2, "--shards", '"65"', "0 to 64"),
    ("cancel q", 2, "by their ids", "--filter"),
    ("cancel q 7", 2, '"7" is not a MessageId', "pawl peek"),
    ("cancel q {id} --filter {{\"a\":[\"b\"]}}", 2, "by their ids", "--filter"),
    ("cancel q --filter {{", 2, "--filter", "not a filter policy"),
    ("cancel q {id} --in=5", 2, '"--in"'),
    ("cancel q {id} --url http://" + NOBODY, 1, NOBODY),
    ("reschedule q {id}", 2, "--in DURATION", "--at TIME"),
    ("reschedule q {id} --in soon", 2, "--in", '"soon"', "90s"),
    ("reschedule q {id} --in 250ms", 2, "--in", '"250ms"', "whole seconds"),
    ("reschedule q {id} --at 5m", 2, "--at", '"5m"', "2026-11-22T10:00:00Z"),
    ("reschedule q {id} --at 2001-01-01T00:00:00Z", 2, "has passed", "--in 0"),
    ("reschedule q {id} {id} --in 5 --url http://" + NOBODY, 1, NOBODY),
    ("snooze", 2, '"snooze"', "pawl reschedule"),
    ("unsend", 2, '"unsend"', "pawl cancel"),
    ("replay cancel q --task x", 2, "--task", '"x"', "1 to 4294967295"),
    ("replay start --queue q --rate 1e9", 2, "--rate", '"1e9"', "0 to 1000000"),
    ("replay start q --into http://127.0.0.1:1/0/r", 2, "--into", "is a URL", '"r"'),
    ("replay list", 2, "needs QUEUE or --queue"),
    ("replay list q --queue q", 2, "QUEUE or --queue takes one value", "Give it once"),
    ("replay list q --binary 127.0.0.1:9326", 2, "--binary", "--url http://HOST:PORT"),
    # directories, files and addresses
    ("serve --data {data}/x/y", 1, "{data}/x/y", "parent"),
    ("serve --data {file}", 1, "{file}", "Name a directory"),
    ("serve --tls-cert {data} --tls-key {data}", 1, "--tls-cert {data}", "PEM form"),
    ("serve --tls-cert {dir} --tls-key {data}", 1, "--tls-cert {dir}", "PEM form", "openssl req -x509"),
    ("serve --tls-cert {certificate} --tls-key {data}", 1, "--tls-key {data}", "PEM form", "can read"),
    ("serve --tls-cert {certificate} --tls-key {dir}", 1, "--tls-key {dir}", "PEM form", "can read"),
    ("serve --tls-cert {certificate} --tls-key {file}", 1, "--tls-key {file}", "PEM form", "openssl pkey"),
    ("serve --auth sigv4 --keys {data}", 1, "--keys {data}", "[[key]]", "can read"),
    ("serve --auth sigv4 --keys {dir}", 1, "--keys {dir}", "[[key]]", "can read"),
    ("wal verify {data}", 3, "{data}", "data directory"),
    ("wal verify --data {data}", 3, "{data}", "data directory"),
    ("wal dump --data {dir}", 3, "{dir}", "data directory"),
    ("wal repair {dir}", 3, "{dir}", "data directory"),
    ("wal repair --data {dir}", 3, "{dir}", "data directory"),
    ("bench send --binary " + NOBODY, 1, NOBODY, "Is `pawl serve` running there?"),
    ("bench send --url http://127.0.0.1:1 --queue q", 1, NOBODY, "Is the server running"),
    ("queue ls --profile=", 2, "--profile needs NAME", "~/.aws/config"),
    ("bench send --url http://127.0.0.1:1/0/q", 1, NOBODY, "Is `pawl serve` running there?"),
    ("replay list q --url http://" + NOBODY, 1, NOBODY, "Is the server running"),
]


class WrongUse(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="pawl-wrong-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.names = {"dir": os.path.join(self.place, "dir"), "file": os.path.join(self.place, "file"),
                      "data": os.path.join(self.place, "data"), "id": "01234567-89ab-cdef-fedc-ba9876543210"}
        os.mkdir(self.names["dir"])
        pathlib.Path(self.names["file"]).touch()

    def run_pawl(self, *words, before=None, **environment):
        """One that starts all the same is ended, and has the exit code None."""
        try:
            return subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=8, stdin=subprocess.DEVNULL,
                                  cwd=self.place, env={**os.environ, **environment}, preexec_fn=before, check=False)
        except subprocess.TimeoutExpired as ended:
            return subprocess.CompletedProcess(ended.args, None, "", (ended.stderr or b"").decode())

    def answered(self, done, code, *parts):
        words = " ".join(done.args[1:])
        self.assertEqual(done.returncode, code, done)
        self.assertRegex(done.stderr, r"(?m)^error: ", words)
        self.assertNotRegex(done.stderr, RAW, words)
        self.assertLess(len(done.stderr), TEXT_MAX, words)
        for part in parts:
            self.assertIn(part, done.stderr, words)

    def test_every_row(self):
        self.names["certificate"] = os.path.join(self.place, "certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x",
                        "-keyout", os.path.join(self.place, "key"), "-out", self.names["certificate"]], capture_output=True, check=True)
        os.chmod(self.names["file"], 0o600)
        for line, code, *parts in ROWS:
            with self.subTest(line):
                words = line.format(**self.names).split()
                more = FREE if words[:1] == ["serve"] and code == 1 else []
                self.answered(self.run_pawl(*words, *more), code, *(part.format(**self.names) for part in parts))
        self.assertFalse(os.path.exists(self.names["data"]))

    def test_values_with_spaces_and_without_anything(self):
        for region in ("", "EU WEST", "Frankfurt", "x" * 65):
            self.answered(self.run_pawl("serve", *FREE, "--region", region), 2, f'"{region}"', "us-east-1")
        self.answered(self.run_pawl("serve", *FREE, "--data", ""), 2, "--data", '""')

    def test_a_variable_that_is_no_setting_is_named(self):
        done = self.run_pawl("serve", PAWL_SERVER_SHARD="2", PAWL_SQS_ZZZZ="1", PAWL_ENDPOINT="x")
        self.answered(done, 2, "PAWL_SERVER_SHARD", 'Did you mean "PAWL_SERVER_SHARDS"?', "PAWL_SQS_ZZZZ", "unset it")
        self.assertNotIn("PAWL_ENDPOINT", done.stderr)

    def test_a_name_without_an_address_is_told_so(self):
        for flag in ("--http", "--admin", "--binary"):
            # A name with an empty label is not looked up in the DNS.
            done = self.run_pawl("serve", "--data", self.names["data"], "--insecure-no-auth", *FREE[:FREE.index(flag)],
                                 *FREE[FREE.index(flag) + 2:], flag, "no..host:0")
            self.answered(done, 1, f"{flag} no..host:0", "no..host has no address", "`ip addr`", "127.0.0.1")
            self.assertNotRegex(done.stderr, "not known|resolution|associated with")

    def test_too_many_open_files_is_a_sentence(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
        done = self.run_pawl("serve", *FREE, "--data", self.names["data"], "--shards", "2", before=limit)
        self.answered(done, 1, "Too many open files", "ulimit -n")

    def test_a_damaged_log_names_its_shard_and_the_remedy(self):
        server = Pawl(PAWL, extra=["--shards", "2"]).start()
        self.addCleanup(server.remove_data)
        self.assertEqual(server.stop(), 0)
        for name in ("MANIFEST.a", "MANIFEST.b"):
            pathlib.Path(server.data, "s01", name).write_bytes(bytes(4096))
        done = self.run_pawl("serve", *FREE, "--data", server.data)
        self.answered(done, 4, "shard 1", f"pawl wal repair {server.data}")

    def test_a_refused_data_directory_has_an_exit_code_of_its_own(self):
        """A service manager that restarts failed servers does not restart these (RestartPreventExitStatus=4)."""
        server = Pawl(PAWL, extra=["--shards", "2"]).start()
        self.addCleanup(server.remove_data)
        self.assertEqual(server.stop(), 0)
        identity = pathlib.Path(server.data, "PAWL")
        whole = identity.read_bytes()
        rows = [(whole[:100] + b"x" + whole[101:4096] + bytes(4096), "is damaged"), (bytes(8192), "is not the identity"),
                (None, "no file PAWL")]
        for content, part in rows:
            identity.unlink(missing_ok=True)
            if content is not None:
                identity.write_bytes(content)
            self.answered(self.run_pawl("serve", *FREE, "--data", server.data), 4, server.data, part)
        identity.write_bytes(whole)
        self.answered(self.run_pawl("serve", *FREE, "--data", server.data, "--shards", "3"), 4, "2 shards", "--shards is 3")
        with Pawl(PAWL, data=server.data):
            self.answered(self.run_pawl("serve", *FREE, "--data", server.data), 1, "in use by another pawl")

    def test_a_directory_without_permission_names_the_remedy_for_containers(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become another user")
        try:
            done = self.run_pawl("serve", *FREE, "--data", self.names["data"], before=lambda: os.setuid(65532))
        except PermissionError as error:
            self.skipTest(f"another user cannot run the program: {error}")
        self.answered(done, 1, self.names["data"], "Permission denied", "user 65532", "`--user UID:GID`", "chown", "fsGroup")

    def ask(self, address, text):
        host, port = address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(text)
            answer = b""
            while more := connection.recv(4096):
                answer += more
        return answer.decode(errors="replace")

    def test_http_at_the_binary_port_is_sent_to_the_right_one(self):
        request = b"GET /?Action=ListQueues HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"
        with Pawl(PAWL) as server:
            for text in (request, request.replace(b"GET ", b"POST ")):
                answer = self.ask(server.ready["binary"], text)
                self.assertTrue(answer.startswith("HTTP/1.1 400 "), answer)
                self.assertIn(f"SQS is served at http://{server.ready['http']}\n", answer)
            self.assertEqual(self.ask(server.ready["binary"], b"\xff" * 100), "")

    def test_plain_http_at_a_port_with_tls_is_told_so(self):
        with TlsPawl(PAWL) as server:
            for port in ("http", "binary"):
                answer = self.ask(server.ready[port], b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(answer.startswith("HTTP/1.1 400 "), answer)
                self.assertIn(f"speaks TLS. SQS is served at https://{server.ready['http']}\n", answer)

    def test_bench_gives_reasons_and_fails_when_nothing_succeeds(self):
        with Pawl(PAWL) as server:
            call(server, "CreateQueue", QueueName="q", Attributes={"MaximumMessageSize": "1024"})
            done = self.run_pawl("bench", "send", "--url", f"{server.url}/000000000000/q", "--body", "4096", "--seconds", "0.2")
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"refused \d+ times: InvalidParameterValueException: ")
            call(server, "CreateQueue", QueueName="b", Attributes={"MaximumMessageSize": "1024"})
            done = self.run_pawl("bench", "send", "--binary", server.ready["binary"], "--queue", "b", "--body", "4096",
                                 "--seconds", "0.2")
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"refused \d+ times: too_large")

    def test_bench_loads_fifo_queues(self):
        with Pawl(PAWL) as server:
            for batch in ("1", "10"):
                done = self.run_pawl("bench", "send", "--url", f"{server.url}/000000000000/q.fifo", "--create", "--batch", batch,
                                     "--messages", "100", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r'"messages":100,.*"errors":0\}')
            counts = call(server, "GetQueueAttributes", QueueUrl=f"{server.url}/000000000000/q.fifo", AttributeNames=["All"])
            self.assertEqual(counts["Attributes"]["ApproximateNumberOfMessages"], "200", "none was a duplicate")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
