# SPDX-License-Identifier: Apache-2.0
"""Containers of the image of pawl, run by podman with runc as root.

podman's storage and settings are in build/image, so that those of this machine are neither needed nor changed. A container has
a network of its own with loopback only, and the tests reach it from a thread that enters this network: ports of this machine
are neither taken nor needed.
"""

import ctypes
import functools
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "image"
STORAGE = PLACE / "storage"
IMAGE = "localhost/pawl:latest"
SECONDS = 60
STOP_SECONDS_MAX = 5
CLONE_NEWNET = 0x40000000
PREFIX = f"pawl-test-{os.getpid()}-"


class NotHere(Exception):
    """This machine cannot run containers; the text says why."""


def settings():
    """The variables that make podman use PLACE, runc, and limits that this process may set."""
    PLACE.mkdir(parents=True, exist_ok=True)
    config, storage = PLACE / "containers.conf", PLACE / "storage.conf"
    config.write_text('[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=1000:1000"]\n'
                      '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
    storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{STORAGE}/images"\nrunroot = "{STORAGE}/run"\n')
    # Without systemd nothing runs the health check by itself: the tests do.
    return {**os.environ, "CONTAINERS_CONF": str(config), "CONTAINERS_STORAGE_CONF": str(storage), "DISABLE_HC_SYSTEMD": "true"}


def podman(*words, check=True, timeout=SECONDS):
    done = subprocess.run(["podman", *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, env=settings(),
                          stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise AssertionError(f"podman {' '.join(map(str, words))}: {done.returncode}: {done.stderr}")
    return done


def require_podman():
    if os.geteuid() != 0:
        raise NotHere("containers with networks of their own need root")
    for program in ("podman", "buildah", "runc"):
        if shutil.which(program) is None:
            raise NotHere(f"{program} is not installed: tools/deps check")


@functools.cache
def build_image():
    """Builds it once in a process."""
    done = subprocess.run([ROOT / "tools/image", "--storage", STORAGE], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    podman("image", "prune", "--force")
    probe = podman("run", "--rm", "--network", "none", IMAGE, "version", check=False)
    if probe.returncode != 0:
        raise NotHere(f"podman cannot run a container here: {probe.stderr.strip()[-300:]}")


@functools.cache
def bridge_fault():
    """Why there is no bridge network; empty: there is one."""
    done = podman("run", "--rm", "--network", "podman", IMAGE, "version", check=False)
    return "" if done.returncode == 0 else done.stderr.strip()[-200:]


class Container:
    """A running container; it is stopped and removed with its anonymous volumes at the end."""

    def __init__(self, *flags, command=(), network="none", image=IMAGE, name=None):
        self.name = PREFIX + (name or os.urandom(4).hex())
        podman("run", "--detach", "--name", self.name, "--network", network, *flags, image, *command)
        self.pid = self.inspect("{{.State.Pid}}")
        self.process = int(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        podman("rm", "--force", "--volumes", "--time", "5", self.name, check=False)

    def inspect(self, form):
        return podman("inspect", "--format", form, self.name).stdout.strip()

    def logs(self):
        done = podman("logs", self.name)
        return done.stdout + done.stderr

    def exec(self, *words):
        return podman("exec", self.name, *words, check=False)

    def wait_ready(self):
        """Asks the image's health check, as an engine with timers would."""
        end = time.monotonic() + SECONDS
        while podman("healthcheck", "run", self.name, check=False).returncode != 0:
            if self.inspect("{{.State.Running}}") != "true" or time.monotonic() > end:
                raise AssertionError(f"{self.name} is not healthy: {self.logs()}")
            time.sleep(0.05)
        return self

    def wait_end(self):
        """The exit code and the lines of a container that ends by itself."""
        return int(podman("wait", self.name).stdout), self.logs()

    def stop(self):
        """The seconds that `podman stop` took, and the exit code."""
        began = time.monotonic()
        podman("stop", self.name)
        return time.monotonic() - began, int(self.inspect("{{.State.ExitCode}}"))

    def connect(self, port, host="127.0.0.1"):
        return connect_in(self.process, host, port)

    def ask(self, port, method, path, headers=None, body=""):
        """Status and text of a page, over loopback of the container."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.sock = self.connect(port)
        try:
            connection.request(method, path, body.encode(), headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def call(self, action, port=9324, headers=None, **members):
        status, text = self.ask(port, "POST", "/", {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action,
                                                    **(headers or {})}, json.dumps(members))
        if status != 200:
            raise AssertionError(f"{action}: {status} {text}")
        return json.loads(text or "{}")


def connect_in(process, host, port):
    """A connection made in the network of a process, by a thread that enters it and ends."""
    made = []

    def enter():
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{process}/ns/net", "rb") as network:
            if libc.setns(network.fileno(), CLONE_NEWNET) != 0:
                made.append(OSError(ctypes.get_errno(), "setns"))
                return
        try:
            made.append(socket.create_connection((host, port), timeout=SECONDS))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class Relay:
    """A port of this machine's loopback that leads into a container: a published port without a bridge, and a proxy."""

    def __init__(self, container, port):
        self.container, self.target = container, port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = self.container.connect(self.target)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def main():
    """Runs the calling module's tests; names those that were skipped, and prints a summary."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    for test, why in result.skipped:
        print(f"SKIPPED {test}: {why}")
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad - len(result.skipped), 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
