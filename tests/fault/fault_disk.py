# SPDX-License-Identifier: Apache-2.0
"""A disk that loses unflushed data: pawl_faultfs, mounted in a directory of its own."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import time

MOUNT_SECONDS = 20


def why_not(program, scratch):
    """The reason why the disk cannot be mounted here, or None."""
    if not pathlib.Path("/dev/fuse").exists():
        return "there is no /dev/fuse"
    if shutil.which("fusermount3") is None:
        return "there is no fusermount3 (Debian: fuse3)"
    if not pathlib.Path(program).exists():
        return f"{program} is not built; it needs libfuse3-dev"
    disk = FaultDisk(program, scratch)
    try:
        disk.mount()
    except RuntimeError as error:
        return str(error)
    finally:
        disk.close()
    return None


class FaultDisk:
    """A disk at `path` between mount() and unmount(). Durable data stays in `backing`."""

    def __init__(self, program, scratch, lie=False):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pawl-fault-", dir=scratch))
        self.backing, self.path = self.directory / "backing", self.directory / "mount"
        self.backing.mkdir()
        self.path.mkdir()
        self.command = [program] + ["--lie"] * lie + [str(self.backing), str(self.path)]
        self.process = None

    def mount(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + MOUNT_SECONDS
        while not self.path.is_mount():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                self.process = None
                raise RuntimeError("pawl_faultfs cannot mount here")
            time.sleep(0.005)

    def unmount(self):
        deadline = time.monotonic() + MOUNT_SECONDS
        while subprocess.run(["fusermount3", "-u", str(self.path)], capture_output=True, check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(f"cannot unmount {self.path}")
            time.sleep(0.01)  # the files of a killed process may be open a moment longer
        self.process.wait(MOUNT_SECONDS)
        self.process = None

    def tell(self, line):
        with open(self.path / ".faultfs", "wb", buffering=0) as control:
            control.write(line.encode())

    def figures(self):
        return json.loads((self.path / ".faultfs").read_text())

    def cut(self, seed):
        """Cuts the power. Returns figures of the kept and the lost data."""
        self.tell(f"cut {seed}")
        return self.figures()

    def close(self, keep=False):
        if self.process is not None:
            self.unmount()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)
