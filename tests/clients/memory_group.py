# SPDX-License-Identifier: Apache-2.0
"""A control group that limits the memory of a server, on machines that allow one to be made."""

import os
import pathlib

from pawl_server import Pawl

V1, V2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")


def make_group(limit):
    """A new group with a limit of memory: its directory, or the reason why there is none."""
    top, name = (V1, "memory.limit_in_bytes") if V1.is_dir() else (V2, "memory.max")
    group = top / f"pawl-test-{os.getpid()}"
    try:
        if top == V2:
            (top / "cgroup.subtree_control").write_text("+memory")
        group.mkdir()
        (group / name).write_text(str(limit))
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        return None, str(error)
    return group, ""


def kills_in(group):
    """How often the kernel has ended a process of the group for its memory."""
    file = group / ("memory.oom_control" if group.parent == V1 else "memory.events")
    return int(dict(line.split() for line in file.read_text().splitlines())["oom_kill"])


def peak_of(group):
    """The most bytes that the group has had; 0 where the kernel does not tell."""
    file = group / ("memory.max_usage_in_bytes" if group.parent == V1 else "memory.peak")
    return int(file.read_text()) if file.exists() else 0


class GroupedPawl(Pawl):
    group = None

    def command(self):
        return ["bash", "-c", f'echo $$ >{self.group}/cgroup.procs && exec "$0" "$@"', *super().command()]
