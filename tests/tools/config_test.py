#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The configuration of `pawl serve`, as tools/CONFIGURATION.md describes it."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

from dev_test import PAWL, ROOT, DevPawl
from peek_test import documented

QUEUE = '[[queue]]\nname = "q"\n'
FIFO = '[[queue]]\nname = "q.fifo"\n'
TOPIC = '[[topic]]\nname = "t"\n'
TO_DEAD = 'RedrivePolicy = { deadLetterTargetArn = "dead", maxReceiveCount = 3 }\n'
# Text of a file, then its faults: line and column, words of the text.
BROKEN = [
    # syntax
    ('[server\n', ("1:8", "table")),
    ('[server]\nshards = \n', ("2:10", "value")),
    ('[server]\nshards 2\n', ("2:8", "=")),
    ('[server]\nmemory = 1GiB\n', ("2:11", "Text needs quotes")),
    ('[server]\ndata = "x\n', ("2:10", "string")),
    ('[server]\nshards = 2 3\n', ("2:12", "saw '3'")),
    ('[server]\nshards = 2\nshards = 3\n', ("3:10", "shards")),
    ('[server]\n[server]\n', ("2:1", "server")),
    ('[server]\nshards = 02\n', ("2:12", "leading zeroes")),
    ('[[queue]]\nname = "\\q"\n', ("2:10", "escape")),
    ('[[queue]]\nname = "q"\ntags = { a = "1" \n', ("3:18", "")),
    ('server = { shards = 2 }\n[server]\n', ("2:1", "server")),
    ('\x00', ("1:1", "")),
    # sections
    ('[srver]\n', ("1:2", "[srver]", 'Did you mean "server"?')),
    ('[liste]\nhttp = "x"\n', ("1:2", "[liste]", 'Did you mean "listen"?')),
    ('[logging]\nlevel = 1\n', ("1:2", "[logging]", "Allowed: server, listen, sqs, queue, topic, subscription, message")),
    ('server = 1\n', ("1:1", "server is a section", "write [server]")),
    ('shards = 2\n', ("1:1", "no section [shards]", "Allowed: server")),
    ('[[server]]\nshards = 2\n', ("1:3", "server is a section", "write [server]")),
    ('[server.more]\nshards = 2\n', ("1:9", '[server] has no key "more"', "Allowed: data")),
    # keys
    ('[server]\nshard = 2\n', ("2:1", '"shard"', 'Did you mean "shards"?')),
    ('[listen]\nshards = 2\n', ("2:1", '[listen] has no key "shards"', "Allowed: http, admin")),
    ('[sqs]\nkey = "x"\nregin = "x"\n', ("2:1", 'Did you mean "keys"?'), ("3:1", 'Did you mean "region"?')),
    ('[listen]\nunix-mode = 600\nunix_mode = 660\n', ("3:1", "unix-mode of [listen] is given twice", "Keep one")),
    # types
    ('[server]\nshards = [1]\n', ("2:10", "shards must be", "a whole number", "1 to 64")),
    ('[server]\nshards = 1.5\n', ("2:10", "shards must be", "1 to 64")),
    ('[server]\ndata = { path = "x" }\n', ("2:8", "data must be", "DIR")),
    ('[server]\ndev = 2026-01-01\n', ("2:7", "dev must be", "yes|no")),
    ('[listen]\nallow-host = [1, 2]\n', ("2:14", "allow-host must be", "array of strings")),
    ('[listen]\nhttp = [["127.0.0.1:0"]]\n', ("2:8", "http must be", "array of strings")),
    # values
    ('[server]\nshards = 0\n', ("2:10", 'shards = "0"', "1 to 64", "default: one per core")),
    ('[server]\nshards = 65\npoll = "fast"\n', ("2:10", 'shards = "65"'), ("3:8", 'poll = "fast"', "always|auto|never")),
    ('[server]\nshards = -1\n', ("2:10", 'shards = "-1"', "1 to 64")),
    ('[server]\nshards = 99999999999999999999\n', ("2:30", "64 bits")),
    ('[server]\nmemory = "4GB"\n', ("2:10", 'memory = "4GB"', "4GiB", "at least 32MiB")),
    ('[server]\nmemory = 1024\n', ("2:10", 'memory = "1024"', "at least 32MiB")),
    ('[server]\ndata = ""\n', ("2:8", 'data = ""', "DIR")),
    ('[server]\nio = "epoll"\n', ("2:6", 'io = "epoll"', "auto|uring|threads")),
    ('[server]\nlog-format = "xml"\n', ("2:14", 'log-format = "xml"', "auto|text|json")),
    ('[server]\ntrust-clock = "maybe"\n', ("2:15", 'trust-clock = "maybe"', "yes|no")),
    ('[listen]\nhttp = "127.0.0.1"\n', ("2:8", 'http = "127.0.0.1"', "ADDR:PORT")),
    ('[listen]\nhttp = 9324\n', ("2:8", 'http = "9324"', "ADDR:PORT", "default: 127.0.0.1:9324")),
    ('[listen]\nadmin = "127.0.0.1:65536"\n', ("2:9", "65536", "ADDR:PORT")),
    ('[listen]\nunix = "pawl.sock"\n', ("2:8", 'unix = "pawl.sock"', "Absolute path")),
    ('[listen]\nunix-mode = 400\n', ("2:13", 'unix-mode = "400"', "600 to 777")),
    ('[listen]\nmax-connections = 0\n', ("2:19", 'max-connections = "0"', "1 to 1000000")),
    ('[listen]\nallow-origin = "evil.example"\n', ("2:16", "evil.example", "https://host")),
    ('[listen]\ntrusted-proxy = ["10.0.0.0/8", "10.0.0.0/40"]\n', ("2:17", "10.0.0.0/40", "ADDR[/BITS]")),
    ('[sqs]\nauth = "basic"\nkeys = "k"\n', ("2:8", 'auth = "basic"', "none|sigv4")),
    ('[sqs]\naccount = 12\n', ("2:11", 'account = "12"', "12 digits")),
    ('[sqs]\nregion = "EU West"\n', ("2:10", 'region = "EU West"', "us-east-1")),
    ('[sqs]\nbase-url = "queues.example"\n', ("2:12", "queues.example", "https://queues.example")),
    ('[sqs]\nmetrics-queues = 100001\n', ("2:18", "100001", "1 to 100000")),
    # settings that do not fit each other
    ('[listen]\nhttp = "127.0.0.1:9325"\n', ("2:8", "--http 127.0.0.1:9325 uses this port", "Give each listener its own port")),
    ('[listen]\nhttp = "127.0.0.1:80"\nbinary = "127.0.0.1:80"\n', ("3:10", "--binary 127.0.0.1:80: --http", "its own port")),
    ('[listen]\nhttp = ["127.0.0.1:80", "0.0.0.0:80"]\n', ("2:8", "uses this port"), ("2:8", "without credentials", "--auth sigv4")),
    ('[listen]\ntls-cert = "c.pem"\n', ("2:12", "--tls-cert is given without --tls-key", "TLS needs both")),
    ('[listen]\nadmin-tls = true\n', ("2:13", "--admin-tls yes needs a certificate", "--tls-cert FILE")),
    ('[listen]\ntls-key = "k.pem"\n', ("2:11", "--tls-key is given without --tls-cert", "TLS needs both")),
    ('[sqs]\nauth = "sigv4"\n', ("2:8", "--auth sigv4 needs access keys", "--keys FILE")),
    ('[sqs]\nkeys = "k.toml"\n', ("2:8", "--keys has no effect with --auth none", "Add --auth sigv4")),
    ('[listen]\nhttp = "0.0.0.0:9324"\n', ("2:8", "cannot bind 0.0.0.0:9324 without credentials", "--auth sigv4")),
    # declared queues
    ('[queue]\nname = "q"\n', ("1:1", "write [[queue]]")),
    ('[[queue]]\nVisibilityTimeout = 5\n', ("1:1", "has no name", "Add name")),
    ('[[queue]]\nname = "a b"\n[[queue]]\nname = 7\n', ("1:1", '"a b" is no name of a queue', "Allowed: letters"), ("4:8", "must be a string")),
    (QUEUE + 'VisibilityTimout = 5\n', ("3:20", '"VisibilityTimout"', 'Did you mean "VisibilityTimeout"?')),
    (QUEUE + 'colour = "red"\n', ("3:10", '"colour"', "Allowed: name")),
    (QUEUE + 'VisibilityTimeout = 99999\nDelaySeconds = 901\n', ("3:21", "VisibilityTimeout = 99999 of queue q", "Allowed: 0 to 43200"),
     ("4:16", "DelaySeconds = 901", "Allowed: 0 to 900")),
    (QUEUE + 'x-durability = "fast"\n', ("3:16", "Allowed: fsync, async, memory")),
    (QUEUE + 'DelaySeconds = 1.5\n', ("3:16", "DelaySeconds must be")),
    (QUEUE + 'account = "12"\n', ("3:11", "account = 12", "12 digits")),
    (QUEUE + 'tags = "red"\n', ("3:8", "tags of a [[queue]] is a table")),
    (QUEUE + 'FifoQueue = true\n', ("3:13", "FifoQueue = true of queue q", "end in .fifo")),
    (FIFO + 'FifoThroughputLimit = "perMessageGroupId"\n', ("3:23", "DeduplicationScope")),
    (QUEUE + TO_DEAD, ("3:17", "RedrivePolicy", "Declare the dead-letter queue")),
    (QUEUE + TO_DEAD + '[[queue]]\nname = "dead"\nDelaySeconds = -1\n', ("6:16", "DelaySeconds = -1", "Allowed: 0 to 900")),
    (QUEUE + 'DelaySeconds = 1\n' + QUEUE + 'DelaySeconds = 2\n', ("4:1", "DelaySeconds = 2", "Keep one")),
    (TOPIC + 'DisplayNam = "x"\nFifoTopic = true\n', ("3:14", 'Did you mean "DisplayName"?')),
    (TOPIC + 'FifoTopic = true\n', ("3:13", "the name decides")),
    ('[[subscription]]\ntopic = "t"\nendpoint = "q"\n' + QUEUE, ("1:1", "Declare it as [[topic]] too")),
    ('[[subscription]]\ntopic = "t"\nendpoint = "q"\n' + TOPIC, ("1:1", "Declare it as [[queue]] too")),
    (TOPIC + QUEUE + '[[subscription]]\ntopic = "t"\nendpoint = "q"\nprotocol = "http"\n', ("8:12", "Allowed: sqs")),
    (TOPIC + QUEUE + '[[subscription]]\ntopic = "t"\nendpoint = "q"\nFilterPolicy = { a = "red" }\n', ("8:16", "FilterPolicy")),
    (QUEUE + 'DelaySeconds = 901\n' + TOPIC + '[[subscription]]\ntopic = "t"\nendpoint = "q"\nRawMessageDelivery = "maybe"\n',
     ("3:16", "DelaySeconds = 901"), ("9:22", "RawMessageDelivery")),
    ('[[message]]\nqueue = "q"\nbody = "b"\n', ("1:1", "Start with --dev, or remove it")),
    ('[server]\ndev = true\n[[message]]\nqueue = "q"\nbody = "b"\ndelay = "16m"\n', ("6:9", "0 to 900")),
    ('[server]\ndev = true\n' + FIFO + '[[message]]\nqueue = "q.fifo"\nbody = "b"\n', ("5:1", "has no group", "Add group")),
    # faults of several kinds, in their order
    ('[[queue]]\nname = "q"\nDelaySeconds = 901\n[sqs]\nauth = "x"\n[server]\nshards = 0\nport = 1\n',
     ("3:16", "DelaySeconds = 901"), ("5:8", 'auth = "x"'), ("7:10", 'shards = "0"'), ("8:1", '"port"', "Allowed: data")),
]

# A value for each setting, and one that `config show` writes in the same way.
VALUES = {
    "server.data": "/tmp/d", "server.dev": "yes", "server.shards": "2", "server.poll": "never", "server.io": "threads",
    "server.landlock": "off", "server.memory": "64MiB", "server.log-format": "json", "server.trust-clock": "yes",
    "listen.http": "127.0.0.1:1", "listen.admin": "127.0.0.1:2", "listen.admin-token": "token", "listen.binary": "127.0.0.1:3", "listen.unix": "/tmp/s",
    "listen.unix-mode": "660", "listen.tls-cert": "c.pem", "listen.tls-key": "k.pem", "listen.admin-tls": "yes",
    "listen.max-connections": "9",
    "listen.max-connections-per-address": "8", "listen.allow-host": "a.example", "listen.allow-origin": "https://a.example",
    "listen.trusted-proxy": "10.0.0.0/8", "sqs.auth": "sigv4", "sqs.keys": "k.toml", "sqs.max-queues-per-account": "7",
    "sqs.metrics-queues": "6", "sqs.strict-sqs": "yes", "sqs.region": "eu-west-1", "sqs.account": "111111111111",
    "sqs.base-url": "https://queues.example",
}
# Settings that need another one.
NEEDS = {"listen.tls-cert": ["listen.tls-key"], "listen.tls-key": ["listen.tls-cert"], "listen.admin-tls": ["listen.tls-cert", "listen.tls-key"],
         "sqs.auth": ["sqs.keys"], "sqs.keys": ["sqs.auth"]}


def variable_of(setting):
    return "PAWL_" + setting.upper().replace(".", "_").replace("-", "_")


# The variables of Kubernetes for a service of a name, with the ports 9324 and 9325.
def of_kubernetes(service):
    name = service.upper().replace("-", "_")
    found = {f"{name}_SERVICE_HOST": "10.0.0.11", f"{name}_SERVICE_PORT": "9324", f"{name}_SERVICE_PORT_HTTP": "9324",
             f"{name}_SERVICE_PORT_ADMIN": "9325", f"{name}_PORT": "tcp://10.0.0.11:9324"}
    for port in ("9324", "9325"):
        of_port = f"{name}_PORT_{port}_TCP"
        found |= {of_port: f"tcp://10.0.0.11:{port}", of_port + "_PROTO": "tcp", of_port + "_PORT": port, of_port + "_ADDR": "10.0.0.11"}
    return found


class Config(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="config-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def run_pawl(self, *words, code=0, **environment):
        done = subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, cwd=self.place,
                              env={**os.environ, **environment}, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def serve_with(self, environment):
        """The lines on stderr of a server that starts."""
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            with DevPawl(self.place) as pawl:
                self.assertEqual(pawl.stop(), 0)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        return pawl.errors

    def test_variables_of_kubernetes_never_refuse_a_start(self):
        variables = {}
        for service in ("pawl", "pawl-server", "pawl-listen", "pawl-sqs", "pawl-server-http"):
            variables |= of_kubernetes(service)
        self.assertNotIn("environment variable", self.serve_with(variables))

    def test_a_mistyped_variable_of_a_section_is_refused_with_the_nearest_name(self):
        for name, meant in (("PAWL_SERVER_SHARD", "PAWL_SERVER_SHARDS"), ("PAWL_LISTEN_HTPP", "PAWL_LISTEN_HTTP"),
                            ("PAWL_SQS_STRICT", "PAWL_SQS_STRICT_SQS"), ("PAWL_SERVER_PORT", ""), ("PAWL_LISTEN_PORT_TCP", ""),
                            ("PAWL_LISTEN_PORT_X_TCP", ""), ("PAWL_LISTEN_PORT_80_TCP_NAME", ""), ("PAWL_SQS_", "")):
            errors = self.run_pawl("serve", "--dev", code=2, **{name: "9324"})
            self.assertTrue(errors.startswith(f"error: the environment variable {name} begins like"), errors)
            self.assertIn(f'Did you mean "{meant}"?' if meant else "pawl serve --help", errors)

    def test_other_variables_are_ignored_or_reported(self):
        errors = self.serve_with({"PAWL_SERVR_SHARDS": "2", "PAWL_ENDPOINT": "x", "PAWLS_SERVER_X": "x"})
        (warning,) = [event for event in map(json.loads, errors.splitlines()[:1]) if event["code"] == "unknown_variable"]
        self.assertIn('PAWL_SERVR_SHARDS is not a setting of pawl serve and has no effect. Did you mean "PAWL_SERVER_SHARDS"?', warning["text"])
        self.assertEqual(errors.count("the environment variable"), 1, errors)

    def shown(self, *words, **environment):
        rows = json.loads(self.run_pawl("config", "show", "-o", "json", *words, **environment))
        for row in rows:
            self.assertEqual(list(row), ["section", "key", "value", "source"])
        return {f"{row['section']}.{row['key']}": (row["value"], row["source"]) for row in rows}

    def write(self, text, name="pawl.toml"):
        pathlib.Path(self.place, name).write_text(text)
        return name

    def test_each_setting_is_a_flag_a_variable_and_a_key(self):
        defaults = self.shown()
        self.assertEqual(list(defaults), list(VALUES))
        self.assertEqual({source for _, source in defaults.values()}, {"default"})
        other = {"server.dev": "no", "sqs.strict-sqs": "no", "server.trust-clock": "no"}
        for setting, value in VALUES.items():
            section, key = setting.split(".")
            flags = [f"--{needed.split('.')[1]}={VALUES[needed]}" for needed in NEEDS.get(setting, [])]
            config = self.write(f"# a setting\n[{section}]\n  {key} = '{value}'\n")
            in_file = (value, f"pawl.toml:3:{len(key) + 6}")
            self.assertEqual(self.shown("--config", config, *flags)[setting], in_file)
            by_variable = {variable_of(setting): value}
            self.assertEqual(self.shown("--config", config, *flags, **by_variable)[setting], (value, variable_of(setting)))
            by_flag = self.shown("--config", config, f"--{key}={value}", *flags, **{variable_of(setting): other.get(setting, value)})
            self.assertEqual(by_flag[setting], (value, f"--{key}"))

    def test_values_are_shown_as_they_are_used(self):
        config = self.write("[listen]\nhttp = ['127.0.0.1:1', '127.0.0.1:2']\n[sqs]\nstrict_sqs = true\nmax-queues-per-account = 5\n")
        found = self.shown("--config", config, "--dev", "--allow-host", "a.example", "--allow-host", "b.example")
        self.assertEqual(found["listen.http"], ("127.0.0.1:1,127.0.0.1:2", "pawl.toml:2:8"))
        self.assertEqual(found["sqs.strict-sqs"], ("yes", "pawl.toml:4:14"))
        self.assertEqual(found["sqs.max-queues-per-account"], ("5", "pawl.toml:5:26"))
        self.assertEqual(found["listen.allow-host"], ("a.example,b.example", "--allow-host"))
        self.assertEqual(found["server.dev"], ("yes", "--dev"))
        self.assertEqual(found["listen.admin"], ("127.0.0.1:0", "default of --dev"))
        table = self.run_pawl("config", "show", "--shards", "2")
        self.assertRegex(table, r"(?m)^KEY +VALUE +SOURCE\n(.*\n)*server\.shards +2 +--shards\n")

    def test_a_configuration_that_cannot_be_used_is_not_shown(self):
        self.assertIn('Did you mean "PAWL_SERVER_SHARDS"?', self.run_pawl("config", "show", code=2, PAWL_SERVER_SHARD="2"))
        self.assertIn("PAWL_SERVER_SHARDS: shards = \"x\"", self.run_pawl("config", "show", code=2, PAWL_SERVER_SHARDS="x"))
        self.assertIn("pawl.toml:1:2: ", self.run_pawl("config", "show", "--config", self.write("[srv]\n"), code=2))

    def test_every_fault_of_a_file_is_told_with_its_place(self):
        self.assertGreaterEqual(len(BROKEN), 60)
        for text, *faults in BROKEN:
            with self.subTest(text):
                lines = self.run_pawl("config", "check", self.write(text), code=4).splitlines()
                self.assertEqual(len(lines), len(faults), lines)
                for line, (place, *words) in zip(lines, faults):
                    self.assertTrue(line.startswith(f"pawl.toml:{place}: "), line)
                    for word in words:
                        self.assertIn(word, line)
                if "[[" not in text:
                    self.assertEqual(self.run_pawl("serve", "--config", "pawl.toml", code=2), f"error: {lines[0]}\n")

    def test_good_files_are_ok(self):
        self.assertEqual(self.run_pawl("config", "check", self.write("")), "pawl.toml: ok\n")
        example = re.search(r"^```toml\n(.*?)^```$", (ROOT / "tools/DECLARED.md").read_text(), re.S | re.M)[1]
        self.assertEqual(self.run_pawl("config", "check", self.write(example), "--dev"), "pawl.toml: ok\n")
        self.assertEqual(self.run_pawl("config", "check", str(ROOT / "tools/debian/pawl.toml")).count(": ok"), 1)
        exposed = self.write("[listen]\nhttp = '0.0.0.0:9324'\n")
        self.run_pawl("config", "check", exposed, code=4)
        self.run_pawl("config", "check", exposed, "--insecure-no-auth")
        self.run_pawl("config", "check", exposed, "--auth", "sigv4", "--keys", "keys.toml")

    def test_faults_are_rows_of_json_too(self):
        config = self.write("[server]\nshards = 0\nport = 1\n")
        rows = json.loads(self.run_pawl("config", "check", config, "-o", "json", code=4))
        self.assertEqual([row["place"] for row in rows], ["pawl.toml:2:10", "pawl.toml:3:1"])
        self.assertIn("1 to 64", rows[0]["error"])
        self.assertEqual(len(self.run_pawl("config", "check", config, "-o", "jsonl", code=4).splitlines()), 2)
        self.assertEqual(json.loads(self.run_pawl("config", "check", self.write(""), "-o", "json")), [])
        self.assertIn("--shards: \"x\"", self.run_pawl("config", "check", self.write(""), "--shards", "x", code=4))

    def test_a_running_server_is_compared_with_a_file(self):
        config = self.write("[server]\ndev = true\nmemory = '64MiB'\n[listen]\nallow-host = ['a.example', 'b.example']\n")
        with DevPawl(self.place, "--config", os.path.join(self.place, config), "--allow-host", "a.example,b.example") as pawl:
            admin = pawl.ready["admin"]
            self.assertEqual(self.run_pawl("config", "diff", config, "--admin", admin),
                             f"No setting of the server at {admin} differs from {config}.\n")
            self.assertEqual(json.loads(self.run_pawl("config", "diff", config, "--admin", admin, "-o", "json")), [])
            page = json.loads(self.page(admin))
            self.assertEqual([f"{row['section']}.{row['key']}" for row in page], list(VALUES))
            told = {row["key"]: (row["value"], row["source"]) for row in page}
            self.assertEqual(told["memory"], ("64MiB", f"{self.place}/pawl.toml:3:10"))
            self.assertEqual(told["allow-host"], ("a.example,b.example", "--allow-host"))
            other = self.write("[server]\ndev = true\nmemory = 65536K\nshards = 3\n".replace("65536K", "'65536K'"), "other.toml")
            rows = json.loads(self.run_pawl("config", "diff", other, "-o", "json", code=4, PAWL_LISTEN_ADMIN=admin))
            self.assertEqual(rows, [
                {"section": "server", "key": "shards", "running": "1", "source": "default of --dev", "file": "3",
                 "file_source": "other.toml:4:10"},
                {"section": "listen", "key": "allow-host", "running": "a.example,b.example", "source": "--allow-host", "file": "none",
                 "file_source": "default"}])
            self.assertRegex(self.run_pawl("config", "diff", other, "--admin", admin, code=4), r"(?m)^server\.shards +1 +default of --dev +3$")
            broken = self.write("[server]\nshards = 0\n", "broken.toml")
            self.assertIn("broken.toml:2:10: ", self.run_pawl("config", "diff", broken, "--admin", admin, code=2))
            foreign = self.run_pawl("config", "diff", config, "--admin", pawl.ready["http"], code=1)
            self.assertIn("does not tell its settings", foreign)
        self.assertIn("Is `pawl serve` running", self.run_pawl("config", "diff", config, "--admin", admin, code=1))

    def page(self, admin):
        with urllib.request.urlopen(f"http://{admin}/config", timeout=10) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            return answer.read()

    def hang_up(self, pawl, count=1):
        """The events of settings that a SIGHUP causes."""
        pawl.process.send_signal(signal.SIGHUP)
        late = threading.Timer(30, pawl.process.kill)  # ends the reading
        late.start()
        found = []
        while len(found) < count:
            line = pawl.process.stderr.readline()
            self.assertNotEqual(line, "", "the server was ended")
            found += [json.loads(line)] if '"code":"setting' in line else []
        late.cancel()
        return found

    def test_a_hangup_tells_each_setting_of_the_file_that_differs(self):
        begun = "[server]\ndev = true\nmemory = '64MiB'\nlog-format = 'json'\n"
        config = self.write(begun)
        with DevPawl(self.place, "--config", os.path.join(self.place, config), "--max-connections", "90") as pawl:
            admin = pawl.ready["admin"]
            for text in (begun, begun.replace("64MiB", "65536K")):
                self.write(text)
                (event,) = self.hang_up(pawl)
                self.assertEqual(event["code"], "settings_unchanged")
            self.write("[server]\ndev = true\nmemory = '128MiB'\nlog-format = 'auto'\n[listen]\nmax-connections = 100\n[sqs]\nregion = 'eu'\n")
            events = self.hang_up(pawl, 4)
            self.assertEqual([(event["code"], event["section"], event["key"], event["running"], event["file"]) for event in events], [
                ("setting_needs_restart", "server", "memory", "64MiB", "128MiB"),
                ("setting_applied", "server", "log-format", "json", "auto"),
                ("setting_overridden", "listen", "max-connections", "90", "100"),
                ("setting_needs_restart", "sqs", "region", "us-east-1", "eu")])
            self.assertIn("server.memory = 128MiB", events[0]["text"])
            self.assertIn("is set by --max-connections", events[2]["text"])
            told = {row["key"]: row["value"] for row in json.loads(self.page(admin))}
            self.assertEqual((told["log-format"], told["memory"]), ("auto", "64MiB"))
            rows = json.loads(self.run_pawl("config", "diff", config, "--admin", admin, "-o", "json", code=4))
            told = [(event["section"], event["key"], event["running"], event["file"]) for event in self.hang_up(pawl, 3)]
            self.assertEqual([(row["section"], row["key"], row["running"], row["file"]) for row in rows], told)
            self.write("[server]\ndev = true\nmemory = 'much'\nshards = 0\n")
            (event,) = self.hang_up(pawl)
            self.assertEqual(event["code"], "settings_not_reloaded")
            self.assertIn("pawl.toml:3:10: memory", event["text"])
            os.unlink(os.path.join(self.place, config))
            (event,) = self.hang_up(pawl)
            self.assertEqual(event["code"], "settings_not_reloaded")
            self.assertIn("cannot be read", event["text"])
            self.write(begun)
            (event,) = self.hang_up(pawl)
            self.assertEqual((event["code"], event["file"]), ("setting_applied", "json"))

    def test_a_hangup_without_a_file_or_with_a_pipe_says_so(self):
        with DevPawl(self.place) as pawl:
            self.assertEqual(self.hang_up(pawl)[0]["code"], "settings_unchanged")
        pipe = os.path.join(self.place, "pipe.toml")
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pathlib.Path(pipe).write_text("[server]\nshards = 1\n"))
        writer.start()
        with DevPawl(self.place, "--config", pipe) as pawl:
            writer.join()
            (event,) = self.hang_up(pawl)
            self.assertEqual(event["code"], "settings_not_reloaded")
            self.assertIn("not a regular file", event["text"])

    def test_the_commands_of_the_page(self):
        server = DevPawl(self.place)
        self.addCleanup(server.__exit__, None, None, None)
        path = f"{pathlib.Path(PAWL).parent}:{os.environ['PATH']}"
        for command in documented("CONFIGURATION.md"):
            with self.subTest(command):
                done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, timeout=30, cwd=self.place, check=False,
                                      stdin=subprocess.DEVNULL, env={**os.environ, "PATH": path, "PAWL_LISTEN_ADMIN": server.ready["admin"],
                                                                 "AWS_ENDPOINT_URL": server.url})
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
