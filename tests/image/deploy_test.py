#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The files of tools/deploy and the snippets of tools/TESTING.md and tools/deploy/README.md, run by podman.

    tests/image/deploy_test.py

Compose and Kubernetes are not needed: their files are parsed, and podman gets the flags that they mean.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from image_test import THREADS, ImageTest  # noqa: E402
from podman import IMAGE, PLACE, ROOT, Container, bridge_fault, main, podman, settings  # noqa: E402

DEPLOY = ROOT / "tools/deploy"
NODE_MIN = 20
HEALTH_COMMAND = ["CMD", "/pawl", "check", "health"]  # of the image, see image_test.py
STOP_MAX = 15  # seconds: tools/SERVING.md


def documented(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M)


def seconds(text):
    value, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(value) * (60 if unit == "m" else 1)


def health_flags(health):
    """Without its command: podman 4 makes a command of the shell of it, and it is that of the image."""
    assert health.get("test", HEALTH_COMMAND) == HEALTH_COMMAND, health
    flags = []
    for key, flag in (("interval", "--health-interval"), ("timeout", "--health-timeout"), ("start_period", "--health-start-period"),
                      ("retries", "--health-retries")):
        if key in health:
            flags += [flag, str(health[key])]
    return flags


class Deploy(ImageTest):
    def compose_flags(self, service):
        flags = health_flags(service.get("healthcheck", {}))
        for volume in service.get("volumes", ()):
            flags += ["--volume", volume.split(":", 1)[1]]  # an anonymous one
        for secret in service.get("secrets", ()):
            flags += ["--volume", f"{self.keys()}:/run/secrets/{secret}:ro"]
        for option in service.get("security_opt", ()):
            name, _, value = option.partition("=")
            flags += ["--security-opt", f"seccomp={DEPLOY / value}" if name == "seccomp" else option]
        flags += ["--read-only"] * service.get("read_only", False)
        flags += [f"--cap-drop={name}" for name in service.get("cap_drop", ())]
        flags += ["--user", service["user"]] if "user" in service else []
        return flags

    def test_the_compose_file(self):
        whole = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
        service = whole["services"]["pawl"]
        self.assertEqual(service["image"], "${PAWL_IMAGE:-" + IMAGE + "}")
        self.assertGreater(seconds(service["stop_grace_period"]), STOP_MAX)
        self.assertEqual(set(whole["secrets"]), set(service["secrets"]))
        self.assertEqual(set(whole["volumes"]), {volume.split(":")[0] for volume in service["volumes"]})
        self.assertEqual({port.split(":")[-1] for port in service["ports"]}, {"9324"})
        with Container(*self.compose_flags(service), command=service["command"]) as pawl:
            pawl.wait_ready()
            self.assertNotIn(THREADS, pawl.logs())
            self.assertEqual(pawl.ask(9324, "GET", "/?Action=ListQueues")[0], 403)
            self.stops(pawl)

    def test_the_stateful_set(self):
        service, stateful = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
        pod = stateful["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertEqual([stateful["kind"], stateful["spec"]["replicas"], stateful["spec"]["serviceName"]], ["StatefulSet", 1, service["metadata"]["name"]])
        self.assertLessEqual({port["targetPort"] for port in service["spec"]["ports"]}, set(ports))
        self.assertGreater(pod["terminationGracePeriodSeconds"], STOP_MAX)
        security, own = pod["securityContext"], container["securityContext"]
        self.assertEqual((security["fsGroupChangePolicy"], security["seccompProfile"]["type"]), ("OnRootMismatch", "RuntimeDefault"))
        self.assertEqual((own["capabilities"], own["readOnlyRootFilesystem"], own["allowPrivilegeEscalation"]), ({"drop": ["ALL"]}, True, False))
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        (secret,) = pod["volumes"]
        user, group = security["runAsUser"], security["fsGroup"]
        keys = self.keys(0, group, secret["secret"]["defaultMode"])  # as the kubelet mounts it
        folder = self.place / "data"  # a new volume: of root, with fsGroup
        folder.mkdir()
        os.chown(folder, 0, group)
        folder.chmod(0o2775)
        common = ["--user", f"{user}:{security['runAsGroup']}", "--group-add", str(group), "--read-only", "--cap-drop=all", "--security-opt", "no-new-privileges",
                  "--volume", f"{keys}:{mounts['keys']}/keys.toml:ro", "--volume", f"{folder}:{mounts['data']}"]
        for profile, threads in (((), True), (("--security-opt", f"seccomp={DEPLOY / 'pawl-seccomp.json'}"), False)):
            with Container(*common, *profile, command=container["args"]) as pawl:
                pawl.wait_ready()
                self.assertEqual(THREADS in pawl.logs(), threads)
                for name, path in (("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")):
                    probe = container[name]["httpGet"]
                    self.assertEqual(probe["path"], path)
                    self.assertEqual(pawl.ask(ports[probe["port"]], "GET", path, {"Host": "10.1.2.3:9325"})[0], 200, name)
                self.stops(pawl)

    def test_the_commands_of_the_page(self):
        text = "\n".join(documented("tools/deploy/README.md", "bash")).replace("\\\n", " ")
        commands = [shlex.split(line, comments=True) for line in text.splitlines() if line.startswith("podman run")]
        self.assertEqual(len(commands), 2)
        for words in commands:
            flags, rest, at = [], [], 2
            while at < len(words) and words[at].startswith("-"):
                taken = 1 if "=" in words[at] or words[at] in ("-d", "--read-only") else 2
                if words[at] not in ("-d", "-p", "--name"):
                    flags += words[at:at + taken]
                at += taken
            image, rest = words[at], words[at + 1:]
            self.assertEqual(image, IMAGE)
            flags = [flag.replace("./keys.toml", str(self.keys())).replace("pawl-data:", "").replace("tools/deploy/", f"{DEPLOY}/") for flag in flags]
            with Container(*flags, command=rest) as pawl:
                pawl.wait_ready()
                self.stops(pawl)


class Snippets(ImageTest):
    def yaml_of(self, name):
        (text,) = (text for text in documented("tools/TESTING.md", "yaml") if text.startswith(f"# {name}"))
        return yaml.safe_load(text)

    def test_compose(self):
        services = self.yaml_of("compose.yaml")["services"]
        self.assertEqual(services["pawl"]["image"], IMAGE)
        self.assertEqual(services["tests"]["depends_on"], {"pawl": {"condition": "service_healthy"}})
        host = services["tests"]["environment"]["AWS_ENDPOINT_URL"].removeprefix("http://")
        with Container(*health_flags(services["pawl"]["healthcheck"])) as pawl:
            pawl.wait_ready()
            self.assertEqual(host.split(":")[0], "pawl")
            url = pawl.call("CreateQueue", int(host.split(":")[1]), {"Host": host}, QueueName="q")["QueueUrl"]
            self.assertEqual(url, f"http://{host}/000000000000/q")

    def test_github_actions(self):
        job = self.yaml_of(".github/workflows/tests.yaml")["jobs"]["tests"]
        service = job["services"]["pawl"]
        self.assertEqual(service["image"], "${{ vars.PAWL_IMAGE }}")
        published = dict(port.split(":") for port in service["ports"])
        endpoint = next(step["env"]["AWS_ENDPOINT_URL"] for step in job["steps"] if "env" in step)
        exposed = json.loads(podman("image", "inspect", IMAGE).stdout)[0]["Config"]["ExposedPorts"]
        self.assertLessEqual({port + "/tcp" for port in published.values()}, set(exposed))
        with Container(*shlex.split(service["options"])) as pawl:
            pawl.wait_ready()
            inside = int(published[endpoint.rsplit(":", 1)[1]])
            host = endpoint.removeprefix("http://")
            self.assertEqual(pawl.call("CreateQueue", inside, {"Host": host}, QueueName="q")["QueueUrl"], f"http://{host}/000000000000/q")

    def test_testcontainers(self):
        why = self.fault_of_testcontainers()
        if why:
            with Container() as pawl:  # its wait strategy alone
                pawl.wait_ready()
                self.assertRegex(pawl.logs(), "Ready")
            self.skipTest(f"its wait strategy alone: {why}")
        (snippet,) = documented("tools/TESTING.md", "javascript")
        (more,) = re.findall(r"`(\.withExposedPorts\(.*?\))`", (ROOT / "tools/TESTING.md").read_text())
        script = PLACE / "js" / "snippet.mjs"
        script.write_text(snippet.replace(".start()", more + ".start()") + """
const call = async (action, body) => {
  const answer = await fetch(endpoint, {method: "POST", body: JSON.stringify(body), headers: {
    "x-amz-target": `AmazonSQS.${action}`, "content-type": "application/x-amz-json-1.0", "user-agent": "test"}});
  return answer.json();
};
const health = await fetch(endpoint + "/_localstack/health", {headers: {"user-agent": "test"}});
console.log(JSON.stringify({health: health.status, url: (await call("CreateQueue", {QueueName: "q"})).QueueUrl, endpoint}));
await container.stop();
""")
        with podman_service() as address:
            done = subprocess.run(["node", script], capture_output=True, text=True, timeout=120, check=False, env={
                **settings(), "DOCKER_HOST": address, "TESTCONTAINERS_RYUK_DISABLED": "true", "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((said["health"], said["url"]), (200, said["endpoint"] + "/000000000000/q"))

    def fault_of_testcontainers(self):
        """Why this machine cannot run it; empty: it can."""
        if fault := bridge_fault():
            return f"no bridge network ({fault})"
        if not (shutil.which("node") and shutil.which("npm")):
            return "node and npm are not installed"
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) < NODE_MIN:
            return f"it needs node {NODE_MIN}, this is {version.strip()}"
        source, place = pathlib.Path(__file__).resolve().parent / "js", PLACE / "js"
        place.mkdir(parents=True, exist_ok=True)
        with open(place / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp, wanted = place / ".installed", hashlib.sha256((source / "package-lock.json").read_bytes()).hexdigest()
            if stamp.exists() and stamp.read_text() == wanted:
                return ""
            for name in ("package.json", "package-lock.json"):
                shutil.copy(source / name, place / name)
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place, capture_output=True, text=True,
                                  timeout=300, check=False)
            if done.returncode != 0:
                return "npm cannot fetch the pinned packages: " + done.stderr[-300:]
            stamp.write_text(wanted)
        return ""


@contextlib.contextmanager
def podman_service():
    """podman's socket, as Docker's API."""
    with tempfile.TemporaryDirectory(prefix="pawl-podman-") as place:
        path = place + "/podman.sock"
        service = subprocess.Popen(["podman", "system", "service", "--time=0", "unix://" + path], env=settings(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 20
            while time.monotonic() < end:
                with socket.socket(socket.AF_UNIX) as probe:
                    if probe.connect_ex(path) == 0:
                        break
                time.sleep(0.05)
            yield "unix://" + path
        finally:
            service.terminate()
            service.wait(timeout=20)


del ImageTest  # it has no test of its own, and is not run twice

if __name__ == "__main__":
    main()
