# SPDX-License-Identifier: Apache-2.0
"""The least that a durable message costs on this machine: a bare durable write, and an empty round trip."""
import os
import subprocess
import tempfile
import time

from serving import cpu_seconds, pinned, result_of


def percentiles(took):
    took.sort()
    return {f"p{name}_us": took[int(len(took) * share)] for name, share in (("50", 0.5), ("99", 0.99), ("999", 0.999))}


def bare_writes(directory, rate, seconds=2.0):
    """Durable writes of 4 KiB on core 0, one at a time: `rate` a second, or (0) as fast as the disk. The CPU time is the kernel's."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        os.write(file.fileno(), bytes(4 << 20))
        os.fsync(file.fileno())
        took, end, used = [], time.monotonic() + seconds, os.times().system
        while (at := time.monotonic()) < end:
            os.pwrite(file.fileno(), len(took).to_bytes(4096, "little"), len(took) % 1024 * 4096)
            os.fdatasync(file.fileno())
            took.append((time.monotonic() - at) * 1e6)
            if rate > 0:
                time.sleep(max(0, 1 / rate - (time.monotonic() - at)))
    os.sched_setaffinity(0, before)
    return percentiles(took) | {"cpu_us": (os.times().system - used) * 1e6 / len(took)}


def round_trips(programs, rate, *more, seconds=2.0):
    """Requests without work, from `bench_peers` on core 1 to `bench_floor` on core 0, which sleeps. `programs`: the folder of both."""
    server = subprocess.Popen(pinned(0, [programs / "bench_floor", "echo"]), stdout=subprocess.PIPE, text=True)
    try:
        url = f"echo://127.0.0.1:{int(server.stdout.readline())}/x"
        result = result_of(pinned(1, [programs / "bench_peers", "send", "--url", url, "--body", "128", "--rate", str(rate), "--seconds",
                                      str(seconds), *more]))
        return result | {"cpu_us": cpu_seconds(server.pid) * 1e6 / (result["messages_per_s"] * seconds)}
    finally:
        server.kill()
        server.wait()
