#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of the verbs on a terminal of 40 columns: no line is longer, and what programs read is whole."""

import errno
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import unittest

from dev_test import PAWL
from peek_test import MOVED, Verbs

LONG = "orders-" + "x" * 70
TABLES = [("queue", "ls"), ("dlq", "ls"), ("dlq", "tasks", "dead"), ("peek", LONG), ("top", "-n", "1", "--interval", "0.1")]


class Narrow(Verbs):
    def setUp(self):
        super().setUp()
        self.pawl.call("CreateQueue", QueueName="dead")
        self.pawl.call("CreateQueue", QueueName=LONG, Attributes={"RedrivePolicy": MOVED})
        self.send(LONG, "ü" * 80, "a\tlong body " * 20)
        self.send("dead", "x")
        self.verb("dlq", "redrive", "dead", "--to", LONG)

    def on_terminal(self, columns, *words):
        """The lines that the verb prints on a terminal."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PAWL, *words, "--url", self.pawl.url], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
        os.close(slave)
        text = b""
        try:
            while part := os.read(master, 65536):
                text += part
        except OSError as error:  # the end of a pseudo-terminal
            self.assertEqual(error.errno, errno.EIO)
        os.close(master)
        self.assertEqual(process.wait(timeout=30), 0, text)
        return text.decode().removesuffix("\r\n").split("\r\n")

    def test_no_line_is_longer_than_the_terminal(self):
        for columns in (40, 20, 7):
            for words in TABLES:
                with self.subTest(columns=columns, words=words):
                    lines = self.on_terminal(columns, *words)
                    self.assertGreater(len(lines), 1)
                    for line in lines:
                        self.assertLessEqual(len(line), columns)

    def test_names_are_cut_before_numbers(self):
        lines = self.on_terminal(40, "queue", "ls")
        self.assertRegex(lines[0], r"^QUEUE +VISIBLE +IN FLIGHT +DELAYED$")
        rows = {line.split()[0]: line.split()[1:] for line in lines[1:]}
        self.assertIn("0", rows["dead"])
        (cut,) = [name for name in rows if name.startswith("orders")]
        self.assertTrue(cut.endswith("..."), cut)
        self.assertEqual(len(rows[cut]), 3)

    def test_a_wide_terminal_and_a_pipe_have_everything(self):
        for words in TABLES:
            with self.subTest(words):
                wide = self.on_terminal(400, *words)
                piped = self.verb(*words).splitlines()
                self.assertEqual(len(wide), len(piped))
                self.assertEqual(wide[0].split(), piped[0].split())
        self.assertIn(LONG, self.verb("queue", "ls"))
        rows = json.loads("".join(self.on_terminal(40, "queue", "ls", "-o", "json")))
        self.assertEqual({row["queue"] for row in rows}, {"dead", LONG})


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
