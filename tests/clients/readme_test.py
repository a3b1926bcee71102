#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of README.md unchanged against a server started by tools/start.

Only the ports are replaced, because the server listens on free ones.
"""

import pathlib
import re
import subprocess
import time
import tomllib

from pawl_server import ROOT, Pawl, ServedTest, main

PLACE = ROOT / "build" / "clients" / "readme"


def block(language):
    found = re.search(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.S | re.M)
    assert found, f"README.md has no {language} block"
    return found[1]


class StartedPawl(Pawl):
    """A server started as in the README."""

    def command(self):
        return [str(ROOT / "tools" / "start")]


class KeyedPawl(Pawl):
    """A server with the keys of the README."""

    def command(self):
        PLACE.mkdir(parents=True, exist_ok=True)
        keys = PLACE / "keys.toml"
        keys.unlink(missing_ok=True)
        keys.touch(mode=0o600)
        keys.write_text(block("toml"))
        return [*super().command(), "--auth", "sigv4", "--keys", str(keys)]


class Keys(ServedTest):
    server = KeyedPawl

    def listed_with(self, secret):
        (key,) = tomllib.loads(block("toml"))["key"]
        code = "import boto3, sys; print(boto3.client('sqs', endpoint_url=sys.argv[1], region_name='us-east-1', " \
               "aws_access_key_id=sys.argv[2], aws_secret_access_key=sys.argv[3]).create_queue(QueueName='q')['QueueUrl'])"
        command = ["/usr/bin/python3", "-c", code, f"http://{self.pawl.ready['http']}", key["id"], secret or key["secret"]]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False), key["account"]

    def test_who_has_the_key_of_the_example_gets_a_queue_in_its_account(self):
        done, account = self.listed_with(None)
        self.assertEqual((done.returncode, done.stdout.split("/")[3:]), (0, [account, "q\n"]), done.stderr)

    def test_who_has_another_secret_does_not(self):
        done, _ = self.listed_with("another")
        self.assertIn("SignatureDoesNotMatch", done.stderr)


class Readme(ServedTest):
    server = StartedPawl

    def replaced(self, text, name, port):
        self.assertIn(str(port), text)
        return text.replace(str(port), self.pawl.ready[name].rsplit(":", 1)[1])

    def test_every_file_it_names_is_there(self):
        for name in re.findall(r"`([\w./-]+/[\w./-]*)`", (ROOT / "README.md").read_text()):
            self.assertTrue((ROOT / name).exists(), name)

    def test_the_start_command_prints_a_snippet_with_the_address(self):
        wanted = f"--endpoint-url http://{self.pawl.ready['http']} sqs "
        deadline = time.monotonic() + 5  # the snippet follows the ready line
        while self.pawl.errors().count(wanted) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.pawl.errors().count(wanted), 3, self.pawl.errors())

    def test_the_python_example_prints_the_message(self):
        code = self.replaced(block("python"), "http", 9324)
        done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "hi\n"), done.stderr)

    def test_the_cpp_example_builds_as_the_readme_says_and_prints_the_message(self):
        """Builds a user's project: the README's two blocks as files, beside a folder pawl."""
        PLACE.mkdir(parents=True, exist_ok=True)
        (PLACE / "app.cc").write_text(self.replaced(block("cpp"), "binary", 9326))
        (PLACE / "CMakeLists.txt").write_text(block("cmake"))
        (PLACE / "pawl").unlink(missing_ok=True)
        (PLACE / "pawl").symlink_to(ROOT)
        for command in (["cmake", "-G", "Ninja", "-S", PLACE, "-B", PLACE / "build", "-DCMAKE_CXX_FLAGS=-O2 -g", "-DCMAKE_C_FLAGS=-O2 -g"],
                        ["cmake", "--build", PLACE / "build", "--target", "app"]):
            built = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        done = subprocess.run([PLACE / "build" / "app"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "hi\n"), done.stderr)

    def test_the_client_examples_bring_every_line_to_the_consumer(self):
        lines = [f"line {number}" for number in range(1, 251)]
        port = self.pawl.ready["binary"].rsplit(":", 1)[1]
        examples = pathlib.Path(ServedTest.binary).parent / "net" / "client" / "examples"
        sent = subprocess.run([examples / "example_producer", "lines", port], input="\n".join(lines), capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((sent.returncode, sent.stdout), (0, "250\n"), sent.stderr)
        received = subprocess.run([examples / "example_consumer", "lines", port], capture_output=True, text=True, timeout=60,
                                  check=False)
        self.assertEqual(received.returncode, 0, received.stderr)
        self.assertEqual(sorted(received.stdout.splitlines()), sorted(lines))

    def test_the_producer_and_consumer_examples_bring_every_line_and_end_in_order(self):
        lines = [f"line {number}" for number in range(1, 251)]
        port = self.pawl.ready["binary"].rsplit(":", 1)[1]
        examples = pathlib.Path(ServedTest.binary).parent / "net" / "client" / "examples"
        # The first example creates the queue.
        subprocess.run([examples / "example_producer", "printed", port], input="line 0", capture_output=True, text=True, timeout=60,
                       check=True)
        sent = subprocess.run([examples / "example_send_lines", "printed", port], input="\n".join(lines), capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual((sent.returncode, sent.stdout), (0, "250\n"), sent.stderr)
        with subprocess.Popen([examples / "example_print_messages", "printed", port], stdout=subprocess.PIPE, text=True) as consumer:
            printed = [consumer.stdout.readline().rstrip("\n") for _ in range(251)]
            consumer.terminate()
            self.assertEqual(consumer.wait(60), 0)
        self.assertEqual(sorted(printed), sorted(["line 0", *lines]))


if __name__ == "__main__":
    main()
