#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Power cuts and failing disks under load: the real program on a disk that loses unflushed data.

The ledger of tests/crash/load.py runs on pawl_faultfs:

  births  the power is cut during the very first startup, and again after the first sends
  cuts    the power is cut, sometimes during recovery; the disk keeps some of the unflushed data
  errors  a write or flush fails with EIO: the process must end by itself, with failure; then a cut
  fan-out publishes to many queues, and the power is cut
  bad     a new segment cannot be written at one place: another file is created
  full    the disk fills up: sends are refused with a retryable error, receives and deletes go on,
          and sends are accepted again when there is free space

At the end no acknowledged message is lost, no deleted message returns, no foreign body appears.
Prints one line with the figures and the seed. The seed repeats times and choices, as far as threads
allow. If nothing can be mounted, it prints SKIPPED with the reason.
"""

import argparse
import collections
import http.client
import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "crash"))
from fan_out_rounds import FanOut  # noqa: E402
from fault_disk import FaultDisk, why_not  # noqa: E402
from load import Client, Load, Pawl, QUEUES, Refused, body_of  # noqa: E402
from pawl_server import scratch  # noqa: E402

END_SECONDS = 20  # longest wait, as for the end of a process whose disk failed
FULL_BODY_BYTES = 250_000
FULL_SENDS_MAX = 2_000
SENDS_BEFORE_FULL = 80  # more than are deleted while the disk is full
RETRIED = {429, 500, 503}  # SDKs retry after these statuses


class Story(Load):
    """A server on a disk with faults."""

    def __init__(self, options, seed, extra=()):
        self.options, self.seed = options, seed
        self.disk = FaultDisk(options.faultfs, scratch(), options.lie)
        pawl = Pawl(options.pawl, data=str(self.disk.path / "data"), extra=extra)
        pawl.errors_file = str(self.disk.directory / "stderr")  # off the disk: it outlives the cuts
        super().__init__(pawl, seed)
        self.what_cuts_did = collections.Counter()
        self.disk.mount()

    def cut(self):
        self.what_cuts_did.update(self.disk.cut(self.random.randrange(1 << 32)))

    def lose_power(self):
        self.cut()
        self.go_down()
        self.replace_power()

    def replace_power(self):
        self.disk.unmount()
        self.disk.mount()

    def abandon(self):
        super().abandon()
        self.disk.close()

    def run_or_keep(self, *rounds):
        """Returns the result of run(). If a startup fails, the test fails and the disk is kept."""
        try:
            return self.run_or_abandon(*rounds)
        except RuntimeError as error:
            print(f"FAILED  {error}\nseed {self.seed}; what is on the disk is kept: {self.disk.backing}")
            self.disk.close(keep=True)
            return 0, 1

    def finish(self, name, more_checks, acked_min, figures=""):
        lost, checks = self.drain_and_check()
        good, bad = self.report(lost, checks | more_checks, acked_min)
        print(f"{name}: {figures}{self.figures(lost)}, seed {self.seed}", flush=True)
        if bad:
            print(f"what is on the disk is kept: {self.disk.backing}")
        self.disk.close(keep=bad)
        return good, bad


# --- the first startup ---

class Birth(Story):
    """Cuts on a new disk, where the names of directories and files are not durable yet."""

    SENDS = 10

    def run(self):
        self.pawl.launch()
        time.sleep(self.random.uniform(0, 0.5))
        self.lose_power()
        self.come_up()
        client = Client(self)
        self.create_queues(client)
        for number in range(self.SENDS):
            self.send(client, number % QUEUES, [body_of(f"birth-{number}-", 100)])
        self.lose_power()
        self.come_up()
        try:
            while any(self.receive(client, queue, wait=0) for queue in range(QUEUES)):
                pass
        except Refused as refused:
            print(f"  {refused}")
        bad = bool(self.ledger.sends_acked.keys() - self.ledger.seen)
        self.go_down()
        if bad:
            print(f"seed {self.seed}; what is on the disk is kept: {self.disk.backing}")
        self.disk.close(keep=bad)
        return int(not bad), int(bad)


def births(options, count):
    good = bad = 0
    for number in range(count):
        passed, failed = Birth(options, options.seed + number).run_or_keep()
        good, bad = good + passed, bad + failed
    print(f"{'FAILED' if bad else 'ok':7} {count} cuts during the first start and behind it; {bad} lost something", flush=True)
    return good, bad


# --- cuts and errors ---

class Cuts(Story):
    SIZES = (0, 100, 2000, 20_000, 200_000)  # enough for a new segment every few rounds

    def __init__(self, options, seed):
        super().__init__(options, seed)
        self.cuts_in_recovery = 0
        self.ran_on = 0  # processes, after a disk error
        self.ended_well = 0

    def cut_round(self):
        self.disk.tell(f"delay {self.random.choice((0, 0, 0, 5, 20))}")
        time.sleep(self.random.uniform(0.05, 0.3))
        self.lose_power()
        if self.random.random() < 0.2:  # a second cut, during recovery
            self.pawl.launch()
            time.sleep(self.random.uniform(0, 0.1))
            self.cuts_in_recovery += 1
            self.lose_power()

    def error_round(self):
        time.sleep(self.random.uniform(0.05, 0.2))
        deadline = time.monotonic() + END_SECONDS
        # Repeats the error until the process ends: one in a new segment only repeats its creation.
        while self.pawl.process.poll() is None and time.monotonic() < deadline:
            self.disk.tell(f"fail {self.random.choice(('write', 'fsync'))} EIO {self.random.randrange(5)} 1")
            patience = time.monotonic() + 1
            while self.pawl.process.poll() is None and time.monotonic() < patience:
                time.sleep(0.01)
        self.ran_on += self.pawl.process.poll() is None
        self.ended_well += self.pawl.process.poll() == 0
        self.lose_power()

    def run(self, cuts, errors):
        self.come_up()
        self.start_workers()
        rounds = [self.cut_round] * cuts + [self.error_round] * errors
        self.random.shuffle(rounds)
        for step in rounds:
            step()
            self.come_up()
        time.sleep(0.2)
        self.stop_workers()
        did = self.what_cuts_did
        return self.finish("power cuts", {
            "processes that ran on after an error of the disk": self.ran_on,
            "processes that ended with success after one": self.ended_well,
            "requests refused, but for the disk": sum(refusal.status not in RETRIED for refusal in self.refused),
            "no cut lost anything that was not flushed": int(did["sectors_lost"] == 0),
        }, acked_min=cuts + errors, figures=(
            f"{cuts} rounds + {self.cuts_in_recovery} in recovery + {errors} after EIO, unflushed: "
            f"{did['sectors_kept']} sectors kept, {did['sectors_lost']} lost, {did['names_kept']} names kept, "
            f"{did['names_lost']} lost; start to ready p50 {statistics.median(self.recovery_ms):.0f} ms "
            f"max {max(self.recovery_ms):.0f} ms; "))


# --- a bad place ---

class BadPlace(Story):
    """The disk cannot write one place of the first new segment: that file is set aside."""

    # Writes before the error: more than a startup makes before it fills the segment, fewer than
    # filling takes.
    WRITES_BEFORE = 100

    def run(self):
        self.disk.tell(f"fail write EIO {self.WRITES_BEFORE} 1")
        self.come_up()
        said = "1 new file of the log could not be written (Input/output error) and is set aside" in self.wait_for_errors()
        self.disk.tell("fail write EIO 0 0")
        client = Client(self)
        self.create_queues(client)
        for number in range(20):
            self.send(client, number % QUEUES, [body_of(f"bad-place-{number}-", 100)])
        self.go_down()
        verified = subprocess.run([self.options.pawl, "wal", "verify", self.pawl.data], capture_output=True, text=True,
                                  timeout=60, check=False)
        self.come_up()
        return self.finish("bad place", {
            "the log does not say that a file is set aside": int(not said),
            f"verify does not call it sound, but {verified.stdout}{verified.stderr}": int(verified.returncode != 0),
            "verify does not list the file": int("1 new file could not be written and is set aside" not in verified.stdout),
        }, acked_min=1)

    def wait_for_errors(self):
        deadline = time.monotonic() + END_SECONDS
        while "set aside" not in self.pawl.errors() and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.pawl.errors()


# --- a topic with many queues ---

class FanOutCuts(FanOut):
    """Every queue has the message of an acknowledged publish, though its body is on the disk once."""

    how = "power cuts"

    def __init__(self, options):
        self.disk = FaultDisk(options.faultfs, scratch(), options.lie)
        pawl = Pawl(options.pawl, data=str(self.disk.path / "data"), extra=["--shards", str(self.shards)])
        pawl.errors_file = str(self.disk.directory / "stderr")
        super().__init__(pawl, options.rounds, options.seed)
        self.disk.mount()

    def break_off(self):
        self.disk.cut(self.random.randrange(1 << 32))
        self.go_down()
        self.disk.unmount()
        self.disk.mount()

    def clean_up(self, keep):
        self.disk.close(keep)

    def abandon(self):
        super().abandon()
        self.disk.close()


# --- a full disk ---

class Full(Story):
    def __init__(self, options, seed):
        super().__init__(options, seed, extra=["--shards", "1"])
        self.client = Client(self)
        self.sent = 0

    def send_one(self):
        self.sent += 1
        self.send(self.client, self.sent % QUEUES, [body_of(f"full-{self.sent}-", FULL_BODY_BYTES)])

    def refusal(self):
        """Sends one message; returns the error, or None."""
        try:
            self.send_one()
        except Refused as refused:
            return refused
        return None

    def fill(self):
        """Sends until a send is refused; returns the error."""
        while self.sent < FULL_SENDS_MAX:
            if refused := self.refusal():
                return refused
        return Refused("nothing", 0)

    def use(self, deletes):
        """Receives and deletes `deletes` messages.

        Returns the number of refused requests or of missing deletes, whichever is larger.
        """
        refused = done = 0
        deadline = time.monotonic() + END_SECONDS
        while done < deletes and refused < deletes and time.monotonic() < deadline:
            try:
                queue = self.random.randrange(QUEUES)
                if messages := self.receive(self.client, queue, wait=0):
                    self.delete(self.client, queue, messages, single=True)
                    done += 1
            except Refused as again:
                self.refused.append(again)
                refused += 1
        return max(refused, deletes - done)

    def seconds_to_resume(self):
        began = time.monotonic()
        while self.refusal() and time.monotonic() - began < END_SECONDS:
            time.sleep(0.005)
        return time.monotonic() - began

    def probe(self, path):
        """The status and the text of a response of the admin port."""
        connection = http.client.HTTPConnection(self.pawl.ready["admin"], timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def health_is(self, status):
        """True if /healthz has this status in time; shards publish their state once a second."""
        deadline = time.monotonic() + END_SECONDS
        while self.probe("/healthz")[0] != status and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.probe("/healthz")[0] == status

    def logs(self, text):
        """True if the server logs the text in time."""
        deadline = time.monotonic() + END_SECONDS
        while text not in self.pawl.errors() and time.monotonic() < deadline:
            time.sleep(0.05)
        return text in self.pawl.errors()

    def run(self):
        self.come_up()
        self.create_queues(self.client)
        for _ in range(SENDS_BEFORE_FULL):
            self.send_one()
        self.disk.tell(f"capacity {self.disk.figures()['used']}")
        refused = self.fill()
        health = self.probe("/healthz")
        probes = [self.probe(path)[0] for path in ("/livez", "/readyz")]
        logged = self.logs("sends are refused")
        unusable = self.use(deletes=20)
        still = self.refusal()
        self.go_down()
        self.come_up()
        unusable_again = self.use(deletes=20)
        self.disk.tell("capacity 0")
        # The first send may fit in the last segment; others wait until a new segment is created.
        resumed = sum(self.seconds_to_resume() for _ in range(20))
        healthy = self.health_is(200)
        logged_end = self.logs("sends are accepted again")
        self.lose_power()
        self.come_up()
        return self.finish("full disk", {
            f"/healthz does not say it at once, but {health}": int(health[0] != 503 or "no space" not in health[1]),
            f"/livez and /readyz do not stay 200, but are {probes}": int(probes != [200, 200]),
            "the log does not say that sends are refused": int(not logged),
            "/healthz stays bad": int(not healthy),
            "the log does not say that sends are accepted again": int(not logged_end),
            f"a send is not refused with an error to retry, but with {refused}": int(refused.status not in RETRIED),
            "receives and deletes refused meanwhile": unusable,
            "receives and deletes refused after kill -9 and a start on the full disk": unusable_again,
            "a later send is taken while the disk is full": int(not still),
            "no send is taken when there is room again": int(resumed >= END_SECONDS),
        }, acked_min=10, figures=f"sends taken again {resumed * 1000:.0f} ms after there was room, ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl", help="the program")
    parser.add_argument("--faultfs", default="build/release/tests/fault/pawl_faultfs")
    parser.add_argument("--rounds", type=int, default=20, help="cuts; a tenth as many errors and first starts come on top")
    parser.add_argument("--lie", action="store_true", help="the disk's flushes do nothing: this test must fail then")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    if reason := why_not(options.faultfs, scratch()):
        print(f"SKIPPED power_cuts: {reason}\n0 passed, 0 failed")
        return 0
    tenth = max(2, options.rounds // 10)
    results = [births(options, tenth), BadPlace(options, options.seed, extra=["--shards", "1"]).run_or_keep(), Cuts(options, options.seed).run_or_keep(options.rounds, tenth),
               FanOutCuts(options).run_or_abandon(), Full(options, options.seed).run_or_keep()]
    good, bad = map(sum, zip(*results, strict=True))
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
