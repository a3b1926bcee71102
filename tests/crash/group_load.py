#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Full load of several kinds in a control group with little memory: counts how often the kernel ends the server.

    tests/crash/group_load.py --pawl build/release/pawl --limit 300 --seconds 10 --rounds 2

Needs root, for the group. Each load lasts --seconds; a load that the server cuts off, because its connections hold too much, is
begun again until then. Prints a line for each load, with the messages, the refusals and the peak of the group so far.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from memory_group import GroupedPawl, kills_in, make_group, peak_of  # noqa: E402

HTTP = "HTTP"
LOADS = {
    "small": ["send", "--connections", "64", "--depth", "16", "--body", "1024"],
    "10 KiB": ["send", "--connections", "64", "--depth", "16", "--body", "10240"],
    "large": ["send", "--connections", "64", "--depth", "8", "--body", "262144"],
    "wide": ["send", "--connections", "1000", "--depth", "16", "--body", "65536"],
    "HTTP batches": [HTTP, "send", "--connections", "500", "--depth", "4", "--batch", "10", "--body", "26000"],
    "HTTP large": [HTTP, "send", "--connections", "1000", "--body", "262144"],
    "HTTP receives": [HTTP, "receive", "--connections", "500", "--batch", "10"],
    "receives": ["receive", "--connections", "64", "--depth", "8", "--batch", "10"],
    "tiny": ["send", "--connections", "16", "--depth", "16", "--batch", "200", "--body", "16"],
    "full": [HTTP, "send", "--connections", "500", "--depth", "4", "--batch", "10", "--body", "26000"],
    "drain": ["receive", "--connections", "64", "--depth", "8", "--batch", "100"],
    "both": ["e2e", "--connections", "32", "--depth", "8", "--body", "1024"],
}


def run_load(pawl, words, seconds):
    """Messages and refusals of one load, begun again until the time is over."""
    command = [pawl.binary, "bench", *[word for word in words if word != HTTP], "--create", "--json"]
    command += ["--url", f"{pawl.url}/{pawl.account}/bench"] if HTTP in words else ["--binary", pawl.ready["binary"]]
    messages = refused = 0
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0.5 and pawl.process.poll() is None:
        done = subprocess.run([*command, "--seconds", f"{left:.1f}"], capture_output=True, text=True, timeout=seconds + 120, check=False)
        if done.stdout.startswith("{"):
            result = json.loads(done.stdout)
            messages, refused = messages + result["messages"], refused + result["errors"]
    return messages, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pawl", default="build/release/pawl")
    parser.add_argument("--limit", type=int, default=300, help="MiB of the group")
    parser.add_argument("--seconds", type=float, default=10, help="of each load")
    parser.add_argument("--rounds", type=int, default=1, help="of all loads")
    options = parser.parse_args()
    group, why = make_group(options.limit << 20)
    if group is None:
        print(f"skipped: this machine does not allow a control group: {why}")
        return 0
    pawl = GroupedPawl(options.pawl)
    pawl.group = group
    try:
        pawl.start()
        for name, words in list(LOADS.items()) * options.rounds:
            messages, refused = run_load(pawl, words, options.seconds)
            print(f"{name}: {messages} messages, {refused} refused, peak {peak_of(group) >> 20} MiB", flush=True)
        kills = kills_in(group)
        code = pawl.stop()
        print(f"{options.limit} MiB: {kills} kills, exit code {code}, peak {peak_of(group) >> 20} MiB")
        return 0 if kills == 0 and code == 0 else 1
    finally:
        if pawl.process is not None and pawl.process.poll() is None:
            pawl.kill()
        pawl.remove_data()
        group.rmdir()


if __name__ == "__main__":
    sys.exit(main())
