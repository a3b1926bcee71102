#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Debian packages, checks them with lintian and systemd-analyze, and uses them in a root file system of debootstrap.

    tests/package/debian_test.py

There they are installed, the program of the unit runs under the unit's own filter of system calls, a newer version replaces
it, and a purge leaves the messages. The empty root file system is kept in build/package/.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from wire import Json  # noqa: E402
import walk  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "package"
OUT, SYSTEM = PLACE / "out", PLACE / "root"
FILTERED = pathlib.Path(__file__).with_name("filtered.py")
UNIT = SYSTEM / "lib/systemd/system/pawl.service"
CONFIG = SYSTEM / "etc/pawl/pawl.toml"
DATA = SYSTEM / "var/lib/pawl"
SECONDS = 600
PROGRAM_BYTES_MAX = 6_000_000
EXPOSURE_MAX = 1.5
MESSAGES = 50


def run(*command, code=0, **words):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS, check=False, stdin=subprocess.DEVNULL, **words)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def mounted(*command):
    """The command with mounts of its own: /proc and the devices of this machine in the root file system."""
    script = f'mount -t proc proc "{SYSTEM}/proc" && mount --rbind /dev "{SYSTEM}/dev" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", *command]


def inside(*command, code=0):
    """Runs a command in the root file system."""
    words = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    return run(*mounted("chroot", SYSTEM, *command), code=code, env=words)


def make_system():
    """A small Debian, from the mirror that apt uses here."""
    rows = run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)").splitlines()
    site, release = next(row.split()[:2] for row in rows if re.search(r"debian\S* [a-z]+ main$", row) and "security" not in row)
    kept = PLACE / f"{release}.tar"
    if not kept.exists():
        empty = PLACE / "empty"
        shutil.rmtree(empty, ignore_errors=True)
        run("debootstrap", "--variant=minbase", "--include=systemd", release, empty, site)
        run("tar", "-C", empty, "-cf", f"{kept}.part", ".")
        shutil.rmtree(empty)
        os.rename(f"{kept}.part", kept)
    shutil.rmtree(SYSTEM, ignore_errors=True)
    SYSTEM.mkdir(parents=True)
    run("tar", "-C", SYSTEM, "-xpf", kept)
    # Packages come from where they come from on this machine.
    shutil.rmtree(SYSTEM / "etc/apt")
    shutil.copytree("/etc/apt", SYSTEM / "etc/apt", symlinks=True)
    for name in ("usr/share/keyrings", "usr/share/ca-certificates", "etc/ssl/certs"):
        shutil.copytree(pathlib.Path("/") / name, SYSTEM / name, symlinks=True, dirs_exist_ok=True)
    for name in ("etc/resolv.conf", "etc/hosts"):
        shutil.copy(pathlib.Path("/") / name, SYSTEM / name)
    for proxy in ("http_proxy", "https_proxy"):
        if proxy in os.environ:
            with open(SYSTEM / "etc/apt/apt.conf.d/99proxy", "a", encoding="utf-8") as file:
                file.write(f'Acquire::{proxy.removesuffix("_proxy")}::Proxy "{os.environ[proxy]}";\n')


def install(*archives):
    for archive in archives:
        shutil.copy(archive, SYSTEM / "tmp")
    inside("apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold", "-o", "Dpkg::Use-Pty=0",
           *(f"/tmp/{archive.name}" for archive in archives))


def package(name):
    (found,) = OUT.glob(f"{name}_*.deb")
    return found


def changed(archive, field, value):
    """The same package with another value of a field; \\1 in it is the present one."""
    tree, made = PLACE / "changed", PLACE / "pawl-changed.deb"
    shutil.rmtree(tree, ignore_errors=True)
    run("dpkg-deb", "-R", archive, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(rf"^{field}: (.*)$", f"{field}: {value}", control.read_text(), count=1, flags=re.M))
    run("dpkg-deb", "--root-owner-group", "--build", tree, made)
    return made


class Unit:
    """The program of the unit, under its filter, with a socket that hears what systemd would."""

    key = "x"  # requests need no signature

    def __enter__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"\0pawl-package-{os.getpid()}")
        self.socket.settimeout(30)
        (command,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.M)
        words = {"NOTIFY_SOCKET": f"@pawl-package-{os.getpid()}", "WATCHDOG_USEC": "900000", "PATH": "/usr/bin:/bin"}
        self.errors = open(PLACE / "stderr", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            mounted("/usr/bin/python3", FILTERED, UNIT, SYSTEM, "pawl", *command.split()), env=words, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.errors.seek(0)
            raise AssertionError(f"the program of the unit ended with {code}: {self.errors.read()}")
        self.ready = json.loads(line)
        self.sqs = Json(self)
        return self

    def __exit__(self, *_):
        self.sqs.close()
        self.process.terminate()
        self.code = self.process.wait(30)
        self.process.stdout.close()
        self.errors.close()
        self.socket.close()

    def heard(self, wanted, datagrams=40):
        return any(wanted in self.socket.recv(4096).decode() for _ in range(datagrams))


class Packages(unittest.TestCase):
    """The tests run in the order of their names, on one root file system."""

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(OUT, ignore_errors=True)
        PLACE.mkdir(parents=True, exist_ok=True)
        run(ROOT / "tools/package", "--out", OUT)
        make_system()

    def test_1_lintian_has_nothing_to_say(self):
        said = run("lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "none", *sorted(OUT.glob("*.deb")))
        self.assertEqual([line for line in said.splitlines() if line.startswith(("E:", "W:"))], [])

    def test_2_it_is_installed_with_its_user_and_directories(self):
        install(package("pawl"), package("libpawl0"), package("libpawl-dev"))
        self.assertLess((SYSTEM / "usr/bin/pawl").stat().st_size, PROGRAM_BYTES_MAX)
        self.assertIn("pawl", inside("getent", "passwd", "pawl"))
        self.assertEqual(inside("stat", "-c", "%U %a", "/var/lib/pawl").strip(), "pawl 700")
        self.assertIn("+0", inside("pawl", "schedule", "next", "rate(1 day)", "--zone", "Europe/Berlin"))
        self.assertIn("pawl wal verify", inside("sh", "-c", "zcat /usr/share/man/man1/pawl-wal.1.gz").replace("\\", ""))
        self.assertIn("pawl-wal", inside("sh", "-c", "zcat /usr/share/man/man1/pawl.1.gz").replace("\\", ""))
        for file in ("bash-completion/completions/pawl", "zsh/vendor-completions/_pawl", "fish/vendor_completions.d/pawl.fish"):
            self.assertTrue((SYSTEM / "usr/share" / file).exists(), file)
        for name in re.findall(r"^\| `/usr/share/pawl/(.*?)` \|", (ROOT / "tools/MONITORING.md").read_text(), re.M):
            self.assertEqual((SYSTEM / "usr/share/pawl" / name).read_bytes(), (ROOT / "tools/deploy" / name).read_bytes())
        self.assertTrue((SYSTEM / f"usr/lib/{os.uname().machine}-linux-gnu/libpawl.so.0").exists())

    def test_3_the_unit_is_valid_and_little_exposed(self):
        self.assertEqual(run("systemd-analyze", "verify", "--man=no", f"--root={SYSTEM}", "pawl.service").strip(), "")
        said = run("systemd-analyze", "security", "--offline=true", f"--root={SYSTEM}", "pawl.service")
        exposure = float(re.search(r"exposure level for pawl.service: ([\d.]+)", said)[1])
        print(f"exposure {exposure}", flush=True)
        self.assertLessEqual(exposure, EXPOSURE_MAX)

    def test_4_it_serves_under_the_filter_of_its_unit(self):
        # Ports that nobody has.
        CONFIG.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", CONFIG.read_text()))
        with Unit() as unit:
            self.assertTrue(unit.heard("READY=1"))
            self.assertTrue(unit.heard("WATCHDOG=1"))
            url = unit.sqs.call("CreateQueue", QueueName="kept")["QueueUrl"]
            for number in range(MESSAGES):
                unit.sqs.call("SendMessage", QueueUrl=url, MessageBody=f"message {number}")
        self.assertEqual(unit.code, 0)

    def test_5_a_newer_version_has_all_messages_and_settings(self):
        before = CONFIG.read_text()
        install(changed(package("pawl"), "Version", r"\1.1"))
        self.assertEqual(CONFIG.read_text(), before)
        with Unit() as unit:
            self.assertEqual(unit.ready["recovered_messages"], MESSAGES)
            url = unit.sqs.call("GetQueueUrl", QueueName="kept")["QueueUrl"]
            bodies = set()
            for _ in range(MESSAGES):
                answer = unit.sqs.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=600)
                bodies |= {message["Body"] for message in answer.get("Messages", [])}
        self.assertEqual(bodies, {f"message {number}" for number in range(MESSAGES)})

    def test_5b_a_stranger_comes_along_with_the_package_alone(self):
        begun = time.monotonic()
        with Unit() as unit:
            variables = [f"AWS_ENDPOINT_URL=http://{unit.ready['http']}", f"PAWL_LISTEN_ADMIN={unit.ready['admin']}"]

            def pawl(words, code):
                done = subprocess.run([str(word) for word in mounted("chroot", SYSTEM, "env", *variables, "pawl", *words)],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                                      timeout=60, check=False)
                # Health and findings have warnings on some machines.
                self.assertIn(done.returncode, {0, 4} if code == 4 and words == ["check"] else {code}, (words, done.stdout))
                return done.stdout

            walk.walk(pawl, CONFIG)
            page = inside("sh", "-c", "zcat /usr/share/man/man1/pawl.1.gz")
            self.assertGreater(walk.examples(pawl, page), 10)
        print(f"the walk took {time.monotonic() - begun:.1f} s", flush=True)

    def test_5c_links_of_the_pages_lead_to_installed_pages(self):
        pages = sorted((SYSTEM / "usr/share/doc/pawl").glob("*.md"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            for link in re.findall(r"\]\(([\w./-]+\.md)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")

    def test_6_it_reads_the_logs_of_every_older_version(self):
        logs = sorted(folder for folder in (ROOT / "tests/upgrade").iterdir() if re.fullmatch(r"v\d+", folder.name))
        self.assertGreaterEqual(len(logs), 9)
        for log in logs:
            there = SYSTEM / "tmp" / log.name
            shutil.copytree(log, there)
            self.assertIn("sound", inside("pawl", "wal", "verify", f"/tmp/{log.name}"), log.name)
            dumped = inside("pawl", "wal", "dump", f"/tmp/{log.name}")
            here = run(ROOT / "build/release/pawl", "wal", "dump", log)
            self.assertEqual(dumped.replace(f"/tmp/{log.name}", ""), here.replace(str(log), ""), log.name)
            self.assertGreater(dumped.count("  send "), 0, log.name)

    def test_7_a_damaged_directory_is_refused_with_4_which_the_unit_does_not_restart(self):
        self.assertIn("RestartPreventExitStatus=4", UNIT.read_text())
        identity = DATA / "PAWL"
        good = identity.read_bytes()
        identity.write_bytes(bytes(len(good)))
        with self.assertRaisesRegex(AssertionError, "ended with 4: .*PAWL"):
            Unit().__enter__()
        identity.write_bytes(good)

    def test_8_a_purge_keeps_the_messages(self):
        said = inside("apt-get", "purge", "-y", "-o", "Dpkg::Use-Pty=0", "pawl")
        self.assertIn("/var/lib/pawl", said)
        self.assertFalse((SYSTEM / "usr/bin/pawl").exists())
        self.assertFalse(CONFIG.exists())
        self.assertTrue((DATA / "PAWL").exists())

    def test_9_wrong_words_are_refused_with_a_remedy(self):
        for words, wanted in ((["--arch", "mips"], "mips is not supported. Give --arch amd64 or --arch arm64"),
                              (["--out", "/proc/no"], "Name a directory")):
            options = words if "--out" in words else ["--out", OUT, *words]
            self.assertIn(wanted, run(ROOT / "tools/package", *options, code=1))
        shutil.copy(changed(package("pawl"), "Architecture", "s390x"), SYSTEM / "tmp/foreign.deb")
        self.assertIn("architecture", inside("dpkg", "-i", "/tmp/foreign.deb", code=1))


if __name__ == "__main__":
    MOUNTED = subprocess.run(["unshare", "--mount", "mount", "-t", "proc", "proc", "/proc"], capture_output=True, text=True, check=False)
    if MOUNTED.returncode != 0:
        print(f"SKIPPED debian: a root file system needs root and mounts, and this machine says: {MOUNTED.stderr.strip()}")
        sys.exit(0)
    done = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Packages))
    print(f"{done.testsRun - len(done.failures) - len(done.errors)} passed, {len(done.failures) + len(done.errors)} failed")
    sys.exit(not done.wasSuccessful())
