#!/usr/bin/python3
"""The `pawl` program as scripts and fingers meet it: exit codes, suggestions, settings."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
VERBS = ["serve", "bench", "doctor", "wal", "version"]


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
        for flag in ("--http", "--admin", "--binary"):
            self.refused(pawl("serve", flag, "0.0.0.0:0"), "cannot bind 0.0.0.0:0 without credentials", flag)
        self.refused(pawl("serve", "--http", "[::]:0"), "without credentials")

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
            # A flag wins over a variable, a variable over the file: the one complained about is the one that counts.
            self.refused(serve("[server]\npoll = 'a'\n", PAWL_SERVER_POLL="b"), '"b"')
            self.refused(serve("[server]\npoll = 'a'\n", "--poll", "c", PAWL_SERVER_POLL="b"), '"c"')
            self.assertFalse(os.path.exists(data), "nothing is made before everything is right")

    def test_doctor_prints_findings_as_json_and_as_a_table(self):
        done = pawl("doctor", "--seconds", "0.05", "--json", "--data", os.path.dirname(PAWL))
        self.assertIn(done.returncode, (0, 4))
        findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
        self.assertEqual(done.returncode == 4, any(f["status"] == "fail" for f in findings.values()))
        self.assertRegex(findings["durable write"]["what"], r"p50 \d+ us, p99 \d+ us")
        table = pawl("doctor", "--seconds", "0", "--data", os.path.dirname(PAWL))
        self.assertTrue(re.search(r"^(ok|warn|fail) +io_uring ", table.stdout, re.M), table.stdout)

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
