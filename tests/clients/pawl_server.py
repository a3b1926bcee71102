# SPDX-License-Identifier: Apache-2.0
"""Runs a `pawl serve` process for tests of the real program."""

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

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STOP_SECONDS = 20
ACCOUNT = "000000000000"  # the account of unsigned requests
LOG_FORMAT = "PAWL_SERVER_LOG_FORMAT"
os.environ.setdefault(LOG_FORMAT, "text")  # tests read sentences, though stderr is no terminal


class Pawl:
    """Starts the server on free loopback ports and stops it in order.

    Ends only the process it started. Creates a data directory unless `data` names one;
    remove_data() deletes it in both cases.
    """

    scheme = "http"
    account = ACCOUNT
    key, secret = "x", "x"  # not checked

    def __init__(self, binary, data=None, extra=()):
        self.binary = str(pathlib.Path(binary).resolve())
        self.data = data or tempfile.mkdtemp(prefix="pawl-test-", dir=scratch())
        self.errors_file = self.data.rstrip("/") + ".stderr"
        self.extra = list(extra)
        self.process = None
        self.ready = None

    def start(self):
        self.launch()
        return self.wait_ready()

    def command(self):
        return [self.binary, "serve"]

    def launch(self):
        command = self.command() + ["--data", self.data]
        for flag in ("--http", "--admin", "--binary"):
            if flag not in self.extra:
                command += [flag, "127.0.0.1:0"]
        self.stderr = open(self.errors_file, "ab")
        self.began = time.monotonic()
        self.process = subprocess.Popen(command + self.extra, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.stderr, text=True)

    def wait_ready(self):
        line = self.process.stdout.readline()
        self.start_seconds = time.monotonic() - self.began
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"pawl serve ended with {code} before it was ready: {self.errors()}")
        try:
            self.ready = json.loads(line)
        except ValueError:
            self.kill()
            raise RuntimeError(f"the ready line is not JSON: {line!r}") from None
        assert self.ready["event"] == "ready", line
        return self

    @property
    def url(self):
        return f"{self.scheme}://{self.ready['http']}"

    def errors(self):
        with open(self.stderr.name, errors="replace") as file:
            return file.read()[-4000:]

    def stop(self):
        """Sends SIGTERM; returns the exit code, which is 0 if everything was drained."""
        self.process.send_signal(signal.SIGTERM)
        return self._gone(STOP_SECONDS)

    def kill(self):
        """Sends SIGKILL; returns the exit code."""
        self.process.kill()
        return self._gone(STOP_SECONDS)

    def _gone(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"pawl serve did not end within {seconds} s: {self.errors()}") from None
        finally:
            self.process.stdout.close()
            self.stderr.close()
        return code

    def remove_data(self):
        shutil.rmtree(self.data, ignore_errors=True)
        pathlib.Path(self.errors_file).unlink(missing_ok=True)

    def arn(self, url):
        return f"arn:aws:sqs:us-east-1:{self.account}:{url.rsplit('/', 1)[1]}"

    def environment(self):
        """Environment of a client of this server, without the AWS settings of the machine."""
        return {"PAWL_ENDPOINT": self.url, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret,
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null",
                "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true"}

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        code = self.stop()
        if kind is None and code != 0:
            raise AssertionError(f"pawl serve ended with {code} after SIGTERM: {self.errors()}")
        self.remove_data()


class Arm64Pawl(Pawl):
    """The program of `tools/cross arm64` under qemu, whatever `binary` names."""

    tree = ROOT / "build" / "arm64"
    emulated = ["qemu-aarch64", "-L", str(tree / "root"), str(tree / "pawl")]

    def command(self):
        return [*self.emulated, "serve"]


class SignedPawl(Pawl):
    """A server that checks signatures and has one key."""

    account = "111122223333"
    key, secret = "AKIDPAWLTEST", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYTESTONLY"

    def __init__(self, binary, data=None, extra=()):
        super().__init__(binary, data, extra)
        self.keys = pathlib.Path(self.data.rstrip("/") + ".keys")
        self.keys.touch(0o600)
        self.keys.write_text(f'[[key]]\nid = "{self.key}"\nsecret = "{self.secret}"\naccount = "{self.account}"\n')
        self.extra += ["--auth", "sigv4", "--keys", str(self.keys)]

    def remove_data(self):
        super().remove_data()
        self.keys.unlink(missing_ok=True)


class TlsPawl(SignedPawl):
    """A signed server with TLS and its own certificate, which environment() makes clients trust."""

    scheme = "https"

    def __init__(self, binary, data=None, extra=()):
        super().__init__(binary, data, extra)
        self.certificate, self.private_key = (pathlib.Path(self.data.rstrip("/") + end) for end in (".cert", ".key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=pawl test", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.private_key, "-out", self.certificate], check=True, capture_output=True)
        self.extra += ["--tls-cert", str(self.certificate), "--tls-key", str(self.private_key)]

    def environment(self):
        trusted = str(self.certificate)
        return super().environment() | {"AWS_CA_BUNDLE": trusted, "NODE_EXTRA_CA_CERTS": trusted, "REQUESTS_CA_BUNDLE": trusted}

    def remove_data(self):
        super().remove_data()
        for file in (self.certificate, self.private_key):
            file.unlink(missing_ok=True)


def start_handed(command, sockets, names, **more):
    """Starts the command as a service manager does: the listening sockets from descriptor 3 on, and three variables."""
    # Copies that are not in the range first: a socket may be at a descriptor of the range.
    copies = [fcntl.fcntl(each.fileno(), fcntl.F_DUPFD, 100) for each in sockets]
    targets = tuple(range(3, 3 + len(copies)))

    def place():
        for source, target in zip(copies, targets):
            os.dup2(source, target)

    variables = {"LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
    try:
        return subprocess.Popen(["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *command], preexec_fn=place, pass_fds=targets,
                                env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **more)
    finally:
        for each in copies:
            os.close(each)


def scratch():
    """A directory below build/: it is on the same disk as the program, never a tmpfs."""
    path = ROOT / "build" / "scratch"
    path.mkdir(parents=True, exist_ok=True)
    return path


class ServedTest(unittest.TestCase):
    """A test class whose tests share one server; the server must also stop in order."""

    binary = None
    server = Pawl

    @classmethod
    def setUpClass(cls):
        cls.pawl = cls.server(cls.binary).start()

    @classmethod
    def tearDownClass(cls):
        code = cls.pawl.stop()
        assert code == 0, f"pawl serve ended with {code} after SIGTERM: {cls.pawl.errors()}"
        cls.pawl.remove_data()


def main():
    """Runs the calling module's tests against the program in argv[1]; prints a summary."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} build/release/pawl [unittest arguments]")
    ServedTest.binary = sys.argv.pop(1)
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    name = pathlib.Path(sys.argv[0]).stem.removesuffix("_test")
    # A missing client prints SKIPPED in capitals, a test that does not apply in small letters.
    whole = [why for test, why in result.skipped if test.id().startswith("setUpClass")]
    alone = [(test.id().rpartition(".")[2], why) for test, why in result.skipped if not test.id().startswith("setUpClass")]
    for line in sorted({f"SKIPPED {name}: {why}" for why in whole} | {f"skipped {name} {test}: {why}" for test, why in alone}):
        print(line)
    # A test with several failed subtests counts once.
    bad = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    ran = result.testsRun - len(alone)
    print(f"{ran - sum(not each.startswith('setUpClass') for each in bad)} passed, {len(bad)} failed", flush=True)
    sys.exit(1 if bad or not (result.testsRun or result.skipped) else 0)
