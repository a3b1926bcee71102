#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 under load, against the real program and a real disk.

4 producers and 4 consumers keep a ledger of acknowledged requests (load.py) while the server is
killed again and again, sometimes during recovery, and restarted on the same data directory. At the
end the queues are drained and the ledger is checked: no message is lost, no deleted message
returns, no foreign body appears.

Prints one line with the figures and the seed. The seed repeats times and choices, as far as threads
allow.
"""

import argparse
import random
import statistics
import sys
import time

from load import Arm64Pawl, Load, Pawl


class Rounds(Load):
    def __init__(self, options):
        super().__init__((Arm64Pawl if options.arm64 else Pawl)(options.pawl), options.seed)
        self.options = options
        self.slowness = 10 if options.arm64 else 1  # of an emulated program
        self.killed_in_recovery = 0

    def run(self):
        self.come_up()
        self.start_workers()
        for _ in range(self.options.rounds):
            time.sleep(self.random.uniform(0.05, 0.15) * self.slowness)
            self.go_down()
            if self.random.random() < self.options.in_recovery:  # a second kill, during recovery
                self.pawl.launch()
                time.sleep(self.random.uniform(0, 0.03) * self.slowness)
                self.pawl.kill()
                self.killed_in_recovery += 1
            self.come_up()
        time.sleep(0.2)
        self.stop_workers()
        return self.check()

    def check(self):
        lost, checks = self.drain_and_check()
        checks["requests refused"] = len(self.refused)
        good, bad = self.report(lost, checks, acked_min=self.options.rounds)
        print(f"kill -9: {self.options.rounds} rounds + {self.killed_in_recovery} in recovery, {self.figures(lost)}, "
              f"{self.ledger.delivered_again()} delivered more than once, start to ready p50 "
              f"{statistics.median(self.recovery_ms):.0f} ms max {max(self.recovery_ms):.0f} ms, seed {self.options.seed}")
        print(f"{good} passed, {bad} failed")
        if bad:
            print(f"the data directory is kept: {self.pawl.data}")
        else:
            self.pawl.remove_data()
        return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl", help="the program")
    parser.add_argument("--arm64", action="store_true", help="instead of it, that of tools/cross arm64 under qemu")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--in-recovery", type=float, default=0.2, help="the part of them that have a second kill, in recovery")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return Rounds(parser.parse_args()).run_or_abandon()


if __name__ == "__main__":
    sys.exit(main())
