#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The image of tools/image under podman: profiles, users, volumes, health, stops, queue URLs.

    tests/image/image_test.py
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import seccomp_profile  # noqa: E402
import podman as containers  # noqa: E402
from podman import IMAGE, PLACE, ROOT, STORAGE, Container, Relay, bridge_fault, podman  # noqa: E402

USER = 65532
BYTES_MAX = 8 << 20
PROFILE = ROOT / "tools/deploy/pawl-seccomp.json"
OURS = ("--security-opt", f"seccomp={PROFILE}")
SEALED = ("--read-only", "--cap-drop=all", "--security-opt", "no-new-privileges")
KEYS = '[[key]]\nid = "AKIDIMAGE"\nsecret = "put-forty-random-characters-in-this-place"\naccount = "111122223333"\n'
THREADS = "runs with --io threads instead of io_uring"


def sqs_of(url):
    """A boto3 client with the key of KEYS; botocore is imported here, because it is slow."""
    import boto3
    from botocore.config import Config
    return boto3.client("sqs", endpoint_url=url, region_name="us-east-1", aws_access_key_id="AKIDIMAGE",
                        aws_secret_access_key="put-forty-random-characters-in-this-place",
                        config=Config(connect_timeout=10, read_timeout=20, retries={"max_attempts": 1}))


def use_queue_through(test, sqs):
    """Sends and receives through the queue URL that the server names."""
    url = sqs.create_queue(QueueName="reached")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="hello")
    test.assertEqual(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"][0]["Body"], "hello")
    sqs.close()
    return url


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            containers.require_podman()
            containers.build_image()
        except containers.NotHere as why:
            raise unittest.SkipTest(str(why)) from None

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="pawl-image-test-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.place.chmod(0o755)

    def stops(self, container):
        seconds, code = container.stop()
        self.assertEqual(code, 0, container.logs())
        return seconds

    def keys(self, owner=USER, group=USER, mode=0o600):
        path = self.place / "keys.toml"
        path.write_text(KEYS)
        path.chmod(mode)
        os.chown(path, owner, group)
        return path


class Files(ImageTest):
    def test_two_builds_are_the_same_and_small(self):
        sizes, files = [], []
        for folder in ("one", "two"):
            done = subprocess.run([ROOT / "tools/image", "--storage", STORAGE, "--out", self.place / folder], capture_output=True, text=True,
                                  timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            (packed,) = (self.place / folder).glob("pawl-*.tar")
            sizes.append(packed.stat().st_size)
            files.append([path.read_bytes() for path in sorted((self.place / folder).iterdir())])
        self.assertLessEqual(sizes[0], BYTES_MAX)
        self.assertEqual(len(files[0]), 2)
        self.assertTrue(files[0] == files[1], "two builds have the same bytes")
        # The image of OCI's format lacks the health check, so the other one is loaded last.
        for packed in sorted((self.place / "one").iterdir(), reverse=True):
            self.assertIn("Loaded image", podman("load", "--input", packed).stdout, packed)
        with tarfile.open(self.place / "one" / "pawl.oci.tar") as archive:
            index = json.load(archive.extractfile("index.json"))
            blob = index["manifests"][0]["digest"].replace(":", "/")
            listed = json.load(archive.extractfile(f"blobs/{blob}"))
            self.assertEqual([m["platform"]["os"] for m in listed["manifests"]], ["linux"])
            manifest = json.load(archive.extractfile("blobs/" + listed["manifests"][0]["digest"].replace(":", "/")))
            self.assertLessEqual(sum(layer["size"] for layer in manifest["layers"]), BYTES_MAX)
        print(f"image: {sizes[0] / 1e6:.1f} MB compressed")

    def test_the_configuration_is_that_of_a_server(self):
        about = json.loads(podman("image", "inspect", IMAGE).stdout)[0]
        config = about["Config"]
        self.assertEqual(config["User"], f"{USER}:{USER}")
        self.assertEqual(set(config["ExposedPorts"]), {"9324/tcp", "9325/tcp", "9326/tcp", "4566/tcp"})
        self.assertEqual(set(config["Volumes"]), {"/data"})
        self.assertEqual(config["Entrypoint"], ["/pawl"])
        self.assertEqual((about.get("Healthcheck") or about["HealthCheck"])["Test"], ["CMD", "/pawl", "check", "health"])
        self.assertEqual(config["Labels"]["org.opencontainers.image.licenses"], "Apache-2.0")
        root = pathlib.Path(podman("image", "mount", IMAGE).stdout.strip())
        try:
            self.assertFalse((root / "bin").exists(), "there is no shell")
            self.assertEqual((os.stat(root / "data").st_uid, os.stat(root / "data").st_gid), (USER, USER))
            self.assertTrue((root / "usr/share/zoneinfo/Europe/Berlin").exists())
            self.assertFalse((root / "usr/share/zoneinfo/right").exists())
            for library in ("libc6", "libssl3", "zlib1g", "tzdata", "pawl"):
                self.assertTrue((root / "usr/share/doc" / library / "copyright").exists(), library)
        finally:
            podman("image", "umount", IMAGE)

    def test_the_profile_is_the_default_and_three_calls(self):
        if not seccomp_profile.DEFAULT.exists():
            self.skipTest(f"{seccomp_profile.DEFAULT} is not there")
        ours = json.loads(PROFILE.read_text())
        self.assertEqual(ours, seccomp_profile.profile(), "make it anew: tests/image/seccomp_profile.py > tools/deploy/pawl-seccomp.json")
        _, default = seccomp_profile.resolved()
        allowed = lambda rules: {name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
        before = {name for (action, _, _), names in default.items() if action == "SCMP_ACT_ALLOW" for name in names}
        self.assertEqual(allowed(ours["syscalls"]) - before, set(seccomp_profile.IO_URING))

    def test_an_image_for_arm64_starts_under_qemu(self):
        if not (ROOT / "build/arm64/pawl").exists():
            self.skipTest("build/arm64/pawl is not built: tools/cross arm64")
        if shutil.which("qemu-aarch64") is None:
            self.skipTest("qemu-aarch64 is not installed: tools/deps arm64")
        done = subprocess.run([ROOT / "tools/image", "--storage", STORAGE, "--out", self.place, "--arch", "all"], capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual((self.place / "pawl-arm64.tar").stat().st_size, BYTES_MAX)
        with tarfile.open(self.place / "pawl.oci.tar") as archive:
            index = json.load(archive.extractfile("index.json"))
            listed = json.load(archive.extractfile("blobs/" + index["manifests"][0]["digest"].replace(":", "/")))
        self.assertEqual(sorted(m["platform"]["architecture"] for m in listed["manifests"]), ["amd64", "arm64"])
        root = podman("image", "mount", "localhost/pawl:arm64").stdout.strip()
        try:
            command = ["qemu-aarch64", "-L", root, root + "/pawl", "serve", "--dev"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env={"TMPDIR": str(self.place)}) as server:
                self.addCleanup(server.kill)
                self.assertEqual(json.loads(server.stdout.readline())["event"], "ready")
                server.terminate()
                self.assertEqual(server.wait(timeout=60), 0)
        finally:
            podman("image", "umount", "localhost/pawl:arm64")


class Profiles(ImageTest):
    def serves(self, *flags, command=(), threads):
        with Container(*flags, command=command) as pawl:
            pawl.wait_ready()
            self.assertEqual(THREADS in pawl.logs(), threads, pawl.logs())
            url = pawl.call("CreateQueue", QueueName="q")["QueueUrl"]
            pawl.call("SendMessage", QueueUrl=url, MessageBody="hello")
            self.assertEqual(pawl.call("ReceiveMessage", QueueUrl=url)["Messages"][0]["Body"], "hello")
            status = pathlib.Path(f"/proc/{pawl.process}/status").read_text()
            self.assertIn(f"\nUid:\t{USER}\t{USER}\t{USER}\t{USER}\n", status)
            self.stops(pawl)

    def test_the_default_profile_lets_it_run_with_threads(self):
        self.serves(threads=True)

    def test_our_profile_lets_it_use_io_uring(self):
        self.serves(*OURS, threads=False)
        self.serves(*OURS, command=("serve", "--dev", "--io", "uring"), threads=False)

    def test_a_sealed_container_is_enough(self):
        self.serves(*SEALED, threads=True)
        self.serves(*SEALED, *OURS, threads=False)

    def test_io_uring_that_must_be_there_is_refused_with_the_remedy(self):
        with Container(command=("serve", "--dev", "--io", "uring")) as pawl:
            code, text = pawl.wait_end()
            self.assertEqual(code, 1)
            self.assertIn("seccomp", text)


class DefaultCommand(ImageTest):
    def test_it_serves_tests_on_two_ports_and_says_so(self):
        with Container() as pawl:
            pawl.wait_ready()
            self.assertIn("serving other machines without credentials (--dev, a server for tests alone)", pawl.logs())
            self.assertIn("pawl serves tests at 0.0.0.0:9324 and 0.0.0.0:4566,", pawl.logs())
            self.assertRegex(pawl.logs(), r"(?m)^Ready\.$")
            self.assertIn('"shards":1,', pawl.logs())
            for port in (9324, 4566):
                self.assertEqual(pawl.ask(port, "GET", "/_localstack/health")[0], 200)
                self.assertEqual(pawl.ask(port, "POST", "/_pawl/reset"), (200, "{}\n"))

    def test_it_stops_soon(self):
        seconds = []
        for _ in range(3):  # programs of podman wait for a core too, on a busy machine
            with Container() as pawl:
                pawl.wait_ready()
                seconds.append(self.stops(pawl))
        self.assertLess(min(seconds), containers.STOP_SECONDS_MAX, seconds)
        print(f"podman stop: {min(seconds):.2f} s")

    def test_the_health_check_tells_ready_from_absent(self):
        with Container() as pawl:
            pawl.wait_ready()
            self.assertEqual((pawl.exec("/pawl", "check", "health").returncode, pawl.exec("/pawl", "check", "health").stdout), (0, "ok\n"))
            absent = pawl.exec("/pawl", "check", "health", "--admin", "127.0.0.1:1")
            self.assertEqual(absent.returncode, 1)
            self.assertIn("127.0.0.1:1", absent.stderr)
            podman("kill", "--signal", "USR2", pawl.name)
            self.assertEqual(pawl.wait_end()[0], 0)

    def test_the_admin_port_answers_probes_alone(self):
        with Container() as pawl:
            pawl.wait_ready()
            for path in ("/livez", "/readyz"):
                self.assertEqual(pawl.ask(9325, "GET", path, {"Host": "pawl:9325"}), (200, "ok\n"))
            for path in ("/metrics", "/queues", "/healthz", "/"):
                status, text = pawl.ask(9325, "GET", path)
                self.assertEqual((status, "/livez and /readyz alone" in text), (403, True), path)


class Volumes(ImageTest):
    def refused(self, *flags, parts):
        with Container(*flags) as pawl:
            code, text = pawl.wait_end()
            self.assertEqual(code, 1, text)
            for part in parts:
                self.assertIn(part, text)

    def test_a_volume_of_root_is_refused_with_the_remedies(self):
        folder = self.place / "data"
        folder.mkdir(mode=0o755)
        self.refused("--volume", f"{folder}:/data",
                     parts=("/data", "Permission denied", f"user {USER} and group {USER}", "`--user UID:GID`", f"chown {USER}:{USER}", "fsGroup"))
        # Its first remedy.
        with Container("--volume", f"{folder}:/data", "--user", "0:0") as pawl:
            pawl.wait_ready()
            self.stops(pawl)

    def test_a_directory_that_cannot_be_written_is_refused_with_the_remedy(self):
        folder = self.place / "data"
        folder.mkdir()
        os.chown(folder, USER, USER)
        for flags in (("--volume", f"{folder}:/data:ro"), ("--read-only", "--image-volume", "ignore")):
            self.refused(*flags, parts=("/data", "Read-only file system", "a volume"))

    def test_another_user_may_own_the_volume(self):
        folder = self.place / "data"
        folder.mkdir()
        os.chown(folder, 1234, 1234)
        with Container("--volume", f"{folder}:/data", "--user", "1234:1234", *SEALED) as pawl:
            pawl.wait_ready()
            self.stops(pawl)

    def test_messages_outlast_the_container(self):
        folder = self.place / "data"
        folder.mkdir()
        os.chown(folder, USER, USER)
        with Container("--volume", f"{folder}:/data") as pawl:
            pawl.wait_ready()
            pawl.call("CreateQueue", QueueName="kept")
            pawl.call("SendMessage", QueueUrl="kept", MessageBody="hello")
            podman("kill", pawl.name)
        with Container("--volume", f"{folder}:/data", *OURS) as pawl:
            pawl.wait_ready()
            self.assertEqual(pawl.call("ReceiveMessage", QueueUrl="kept")["Messages"][0]["Body"], "hello")


class QueueUrls(ImageTest):
    """The queue URL is one that its caller can reach."""

    def test_it_has_the_name_and_the_port_that_the_caller_used(self):
        with Container() as pawl:
            pawl.wait_ready()
            pawl.call("CreateQueue", QueueName="q")
            for port, host in ((9324, "pawl:9324"), (4566, "pawl:4566"), (4566, "queue.test:4566"), (9324, "host.docker.internal:12345"),
                               (9324, "10.88.0.7:9324"), (9324, "[fd00::7]:9324"), (4566, "localhost")):
                url = pawl.call("GetQueueUrl", port, {"Host": host}, QueueName="q")["QueueUrl"]
                self.assertEqual(url, f"http://{host}/000000000000/q")

    def test_behind_a_proxy_it_has_the_base_url_or_the_forwarded_name(self):
        base = "https://queues.example"
        for more, headers in ((("--base-url", base), {}), (("--trusted-proxy", "127.0.0.0/8"),
                                                          {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "queues.example"})):
            with Container(command=("serve", "--dev", *more)) as pawl:
                pawl.wait_ready()
                self.assertEqual(pawl.call("CreateQueue", headers=headers, QueueName="q")["QueueUrl"], base + "/000000000000/q")

    def test_a_published_port_is_in_it(self):
        fault = bridge_fault()
        if not fault:
            with Container("--publish", "127.0.0.1::9324", "--publish", "127.0.0.1::4566", network="podman") as pawl:
                pawl.wait_ready()
                for port in (9324, 4566):
                    address = podman("port", pawl.name, str(port)).stdout.strip()
                    self.assertTrue(use_queue_through(self, sqs_of("http://" + address)).startswith(f"http://{address}/"))
            return
        print(f"no bridge network: a relay publishes the port ({fault})")
        with Container() as pawl, Relay(pawl, 9324) as relay:
            pawl.wait_ready()
            self.assertTrue(use_queue_through(self, sqs_of(f"http://127.0.0.1:{relay.port}")).startswith(f"http://127.0.0.1:{relay.port}/"))

    def test_another_container_reaches_it_by_the_name_of_the_service(self):
        """As a program of a compose file: it knows the name, and uses the queue URL that the server returns."""
        with Container(network="podman" if not bridge_fault() else "none") as pawl:
            pawl.wait_ready()
            host = pawl.inspect("{{.NetworkSettings.IPAddress}}") or "127.0.0.1"
            network = ("--network", "podman") if host != "127.0.0.1" else ("--network", f"ns:/proc/{pawl.process}/ns/net")
            done = podman("run", "--rm", *network, "--add-host", f"pawl:{host}", IMAGE, "bench", "send", "--seconds", "1", "--create",
                          "--url", "http://pawl:4566/000000000000/bench", check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


class Keys(ImageTest):
    def test_with_keys_it_is_a_server_of_production(self):
        # The second is a secret as Kubernetes mounts it with fsGroup.
        for owner, mode in ((USER, 0o600), (0, 0o440)):
            keys = self.keys(owner, USER, mode)
            with Container("--volume", f"{keys}:/keys.toml:ro", *SEALED, *OURS, command=("serve", "--auth", "sigv4", "--keys", "/keys.toml")) as pawl:
                pawl.wait_ready()
                self.assertNotIn("--dev", pawl.logs())
                self.assertEqual(pawl.ask(9324, "POST", "/_pawl/reset")[0], 403)
                self.assertEqual(pawl.ask(9324, "GET", "/?Action=ListQueues")[0], 403)
                with self.assertRaises(ConnectionRefusedError):
                    pawl.connect(4566)
                with Relay(pawl, 9324) as relay:
                    url = use_queue_through(self, sqs_of(f"http://127.0.0.1:{relay.port}"))
                self.assertIn("/111122223333/", url)
                self.stops(pawl)

    def test_a_key_file_that_others_can_read_is_refused(self):
        keys = self.keys(mode=0o644)
        with Container("--volume", f"{keys}:/keys.toml:ro", command=("serve", "--auth", "sigv4", "--keys", "/keys.toml")) as pawl:
            code, text = pawl.wait_end()
            self.assertEqual(code, 1)
            self.assertIn("chmod 600", text)


if __name__ == "__main__":
    PLACE.mkdir(parents=True, exist_ok=True)
    containers.main()
