#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a root file system as a unit of systemd would: its user, and its filter of system calls.

    filtered.py UNIT ROOT USER PROGRAM [ARGUMENT...]

A call outside the filter kills the process, as systemd's default does.
"""
import os
import pathlib
import pwd
import subprocess
import sys

import seccomp


def calls_of(word):
    """The system calls of a name in SystemCallFilter=: a call, or a group with the groups in it."""
    if not word.startswith("@"):
        return {word}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True).stdout
    words = [line.strip() for line in listed.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*(calls_of(one) for one in words))


def allowed_calls(unit):
    allowed = set()
    for line in unit.splitlines():
        key, _, value = line.partition("=")
        if key != "SystemCallFilter":
            continue
        denies = value.startswith("~")
        calls = set().union(*(calls_of(word) for word in value.removeprefix("~").split()))
        allowed = allowed - calls if denies else allowed | calls
    return allowed


def main():
    unit, root, user, *command = sys.argv[1:]
    allowed = allowed_calls(pathlib.Path(unit).read_text())
    # systemd starts the program with these, after its filter is loaded.
    filtering = seccomp.SyscallFilter(seccomp.KILL_PROCESS)
    for call in sorted(allowed | {"execve"}):
        try:
            filtering.add_rule(seccomp.ALLOW, call)
        except (RuntimeError, OSError, ValueError):
            pass  # a call of another architecture or of a newer kernel
    os.chroot(root)
    os.chdir("/")
    account = pwd.getpwnam(user)  # of the root file system
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    os.umask(0o077)
    filtering.load()
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
