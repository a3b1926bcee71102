# SPDX-License-Identifier: Apache-2.0
"""The brokers that bench/peers/run measures: how each is started, and how the generator reaches it.

Each one runs pinned to a core, with its data below a new directory, on free ports of loopback."""
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

START_SECONDS = 60
SQS_BATCH_MAX = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(process, port):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"ended with code {process.returncode} before it listened")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"did not listen within {START_SECONDS} s")


def times_of_processes():
    """pid -> (parent, seconds of CPU, with its ended children)."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        found[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / tick
    return found


class Broker:
    """A started broker. A subclass names itself and its program, and starts it."""
    name = program = package = acknowledges = ""
    durable = True
    pipelines = True  # several requests may be in flight on a connection
    batch = 1  # messages in each request
    settings = ""  # the flags that matter for durability

    def __init__(self, tools, directory, core):
        self.tools, self.directory, self.core = tools, pathlib.Path(directory), core
        self.port = free_port()
        self.directory.mkdir(parents=True)
        self.process = None

    @classmethod
    def present(cls):
        return bool(cls.path_of_program())

    @classmethod
    def path_of_program(cls):
        return shutil.which(cls.program, path=os.environ["PATH"] + ":/usr/sbin:/usr/lib/rabbitmq/bin")

    @classmethod
    def version(cls):
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", cls.package], capture_output=True, text=True, check=False)
        return asked.stdout

    def run(self, command, **more):
        self.process = subprocess.Popen(["taskset", "-c", str(self.core), *command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        wait_for_port(self.process, self.port)

    def generator(self, queue):
        """The command up to its workload, and the arguments that name the queue."""
        return [str(self.tools / "bench/bench_peers")], ["--url", f"{self.scheme}://127.0.0.1:{self.port}/{queue}"]

    def cpu_seconds(self):
        times = times_of_processes()
        family, total = [self.process.pid], 0.0
        for pid in family:
            family += [child for child, (parent, _) in times.items() if parent == pid]
            total += times.get(pid, (0, 0.0))[1]
        return total

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Pawl(Broker):
    name, acknowledges = "pawl, binary", "after fdatasync of the batch"
    settings = "--shards 1"

    @classmethod
    def present(cls):
        return True

    @classmethod
    def version(cls):
        return ""

    def start(self):
        command = ["taskset", "-c", str(self.core), str(self.tools / "pawl"), "serve", "--data", str(self.directory / "data"), "--shards", "1"]
        for flag in ("--http", "--admin", "--binary"):
            command += [flag, "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ready = json.loads(self.process.stdout.readline())

    def generator(self, queue):
        return ([str(self.tools / "pawl"), "bench"],
                ["--binary", self.ready["binary"], "--queue", queue, "--create", "--json"])


class PawlSqs(Pawl):
    name = "pawl, SQS JSON"
    pipelines = False

    def generator(self, queue):
        return ([str(self.tools / "pawl"), "bench"],
                ["--url", f"http://{self.ready['http']}/000000000000/{queue}", "--create", "--json"])


class PawlSqsBatches(PawlSqs):
    """SendMessageBatch, ReceiveMessage of up to ten, DeleteMessageBatch."""
    name = "pawl, SQS batches of 10"
    batch = SQS_BATCH_MAX


class Redis(Broker):
    name, program, package, scheme = "Redis stream", "redis-server", "redis-server", "redis"
    acknowledges = "after fsync of the batch"
    settings = "--appendonly yes --appendfsync always --save '', no rewrite of the log during the run"

    def start(self):
        self.run([self.path_of_program(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory), "--save", "",
                  "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"])


class Beanstalkd(Broker):
    name, program, package, scheme = "beanstalkd", "beanstalkd", "beanstalkd", "beanstalk"
    acknowledges = "after fsync of each message"
    settings = "-b DIR -f0"

    def start(self):
        self.run([self.path_of_program(), "-l", "127.0.0.1", "-p", str(self.port), "-b", str(self.directory), "-f0", "-z", "1048576"])


class Nats(Broker):
    name, program, package, scheme = "NATS JetStream", "nats-server", "nats-server", "nats"
    acknowledges = "BEFORE the disk (sync every 2 min)"
    durable = False
    settings = "-js, file storage, work queue retention"

    def start(self):
        self.run([self.path_of_program(), "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.directory)])


class RabbitMq(Broker):
    name, program, package, scheme = "RabbitMQ quorum queue", "rabbitmq-server", "rabbitmq-server", "amqp"
    acknowledges = "after fsync of the batch"
    settings = "x-queue-type quorum, publisher confirms, prefetch = depth"

    def start(self):
        self.epmd_port = free_port()
        base = str(self.directory)
        environment = os.environ | {
            "HOME": base, "RABBITMQ_NODENAME": f"bench{self.port}@localhost", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_DIST_PORT": str(free_port()), "ERL_EPMD_PORT": str(self.epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1", "RABBITMQ_MNESIA_BASE": base, "RABBITMQ_LOG_BASE": base,
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{base}/plugins", "RABBITMQ_PID_FILE": f"{base}/pid", "RABBITMQ_CONFIG_FILE": f"{base}/none",
            "RABBITMQ_CONF_ENV_FILE": f"{base}/none"}
        # The program in /usr/sbin would change to the user of the system's own node.
        self.run(["/usr/lib/rabbitmq/bin/rabbitmq-server"], env=environment)

    def stop(self):
        super().stop()
        subprocess.run(["epmd", "-port", str(self.epmd_port), "-kill"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


class Postgres(Broker):
    name, program, package, scheme = "PostgreSQL SKIP LOCKED", "postgres", "postgresql", "postgres"
    acknowledges = "after fsync of the batch (synchronous_commit)"
    settings = "defaults, shared_buffers 256MB"

    @classmethod
    def version(cls):
        asked = subprocess.run([cls.path_of_program(), "--version"], capture_output=True, text=True, check=False)
        return asked.stdout.partition(") ")[2].strip()

    @classmethod
    def path_of_program(cls):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[4]))
        return str(found[-1]) if found else None

    def start(self):
        program, data = pathlib.Path(self.path_of_program()), self.directory / "data"
        as_user = {}
        if os.geteuid() == 0:  # it refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.directory, user.pw_uid, user.pw_gid)
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        subprocess.run([program.parent / "initdb", "-D", data, "-U", "bench", "-A", "trust", "-N"], check=True, capture_output=True,
                       cwd="/", **as_user)
        self.run([str(program), "-D", str(data), "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c",
                  f"unix_socket_directories={self.directory}", "-c", "max_connections=300", "-c", "shared_buffers=256MB"], cwd="/", **as_user)
        self.wait_until_ready(program.parent / "pg_isready")

    def wait_until_ready(self, asks):
        """It listens before it accepts connections."""
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run([asks, "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(f"was not ready within {START_SECONDS} s")
            time.sleep(0.05)


class OtherEndpoint(Broker):
    """An SQS endpoint that somebody else started: no pinning, no CPU time."""
    acknowledges = "unknown"
    durable = pipelines = False

    def __init__(self, tools, url, batch=1):
        self.tools, self.url, self.batch, self.process = tools, url.rstrip("/"), batch, None
        self.name = url if batch == 1 else f"{url}, batches of {batch}"

    def start(self):
        pass

    def generator(self, queue):
        # The rows of an endpoint share no messages.
        own = queue if self.batch == 1 else f"{queue}_batch_{self.batch}"
        return [str(self.tools / "pawl"), "bench"], ["--url", f"{self.url}/{own}", "--create", "--json"]

    def cpu_seconds(self):
        return None


ALL = [Pawl, PawlSqs, PawlSqsBatches, Redis, Beanstalkd, RabbitMq, Nats, Postgres]
