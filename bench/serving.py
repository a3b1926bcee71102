# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks here share: a server of their own on free ports of loopback, and one run of `pawl bench`."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import urllib.parse
import urllib.request


def pinned(cpu, command):
    return command if cpu is None else ["taskset", "-c", str(cpu), *command]


class Server:
    """Ready when it is made; `ready` has the addresses. The caller ends it.

    `under`: a command that runs the server, such as valgrind."""

    def __init__(self, pawl, data, *more, cpu=None, under=()):
        command = [*under, pawl, "serve", "--data", data, "--shards", "1", *more]
        for flag in ("--http", "--admin", "--binary"):
            command += [flag, "127.0.0.1:0"]
        self.process = subprocess.Popen(pinned(cpu, command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def resident(self):
        """Bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise SystemExit("the server has gone")

    def metrics(self):
        """Of its one shard, by name and kind; they are a second old at most."""
        with urllib.request.urlopen(f"http://{self.ready['admin']}/metrics") as answer:
            lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
        return {name.replace('shard="0"', "").replace("{,", "{").replace("{}", ""): int(value) if value.isdigit() else float(value)
                for name, value in (line.rsplit(" ", 1) for line in lines)}

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(timeout=60)


class Client:
    """A connection for requests of the Query protocol."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address)

    def __call__(self, version, action, **parameters):
        body = urllib.parse.urlencode({"Action": action, "Version": version, **parameters})
        self.connection.request("POST", "/", body, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise SystemExit(f"{action}: {answer.status} {text}")
        return text


def name_of(pawl):
    """The checkout of a program, to tell two of them apart."""
    parts = pathlib.Path(pawl).resolve().parts
    return parts[parts.index("build") - 1] if "build" in parts else parts[-1]


def cpu_seconds(pid):
    """User and kernel time of a process since its start; the kernel's threads that flush for it are its own."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def callgrind(pawl, directory, *more):
    """A server under callgrind that writes its counts to directory/out.* once a second; its data is in directory/data."""
    # valgrind runs one thread at a time, and a shard that sleeps in io_uring_enter keeps its turn.
    # Without --fair-sched the thread that prints the ready line may wait for minutes.
    under = ["valgrind", "--tool=callgrind", "--quiet", "--fair-sched=yes", "--dump-after=pawl::Worker::second_passed()",
             f"--callgrind-out-file={directory}/out"]
    return Server(pawl, f"{directory}/data", "--poll", "never", *more, under=under)


def result_of(command):
    """The result of a load generator; any error ends the program."""
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(run.stdout.strip().splitlines()[-1])
    if result["errors"]:
        raise SystemExit(f"{result['errors']} errors: {' '.join(map(str, command))}")
    return result


def bench(pawl, *arguments, cpu=1):
    """The result of one run of `pawl bench`, and its command."""
    command = pinned(cpu, [pawl, "bench", *arguments, "--json"])
    return result_of(command), " ".join(command)
