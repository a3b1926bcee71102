#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a sandbox as systemd units and containers have it.

    sandboxed.py [--no-clock-calls] [--no-landlock] [--no-proc-sys] [--no-io-uring=CALLS,ERROR] [--few-submissions=N] PROGRAM [ARGUMENT...]

--no-clock-calls refuses adjtimex and clock_adjtime with EPERM, as ProtectClock=yes does.
--no-landlock refuses the calls of Landlock with EPERM. --no-proc-sys hides /proc/sys behind an
empty directory, as ProcSubset=pid does; it needs root. --no-io-uring refuses calls of io_uring, setup+enter+register or fewer,
with an error such as EPERM (Docker, containerd) or ENOSYS (podman). --few-submissions refuses io_uring_enter with EPERM when it
submits N or more at once: a profile that allows the start and refuses later. Exit 77: this machine does not allow it.
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
LOAD_WORD, JUMP_IF_EQUAL, JUMP_IF_LESS_NOT, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K
SECOND_ARGUMENT = 24  # in struct seccomp_data: its low word
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
CLOCK_CALLS = {"x86_64": (159, 305), "aarch64": (171, 266)}  # adjtimex, clock_adjtime
LANDLOCK_CALLS = (444, 445, 446)  # on every architecture
RING_CALLS = {"setup": 425, "enter": 426, "register": 427}  # on every architecture
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        print(f"{what}: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        sys.exit(77)


def refuse(calls, error):
    rows = [(LOAD_WORD, 0, 0, 0)]  # the number of the call
    rows += [(JUMP_IF_EQUAL, len(calls) - i, 0, call) for i, call in enumerate(calls)]
    rows += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE | error)]
    filter_calls(rows)


def filter_calls(rows):
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = struct.pack("H6xP", len(rows), ctypes.addressof(code))
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0), "seccomp")


def refuse_clock_calls():
    refuse(CLOCK_CALLS[os.uname().machine], errno.EPERM)


def refuse_landlock():
    refuse(LANDLOCK_CALLS, errno.EPERM)


def refuse_io_uring(words):
    calls, error = words.split(",")
    refuse([RING_CALLS[call] for call in calls.split("+")], getattr(errno, error))


def refuse_many_submissions(count):
    filter_calls([
        (LOAD_WORD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 3, RING_CALLS["enter"]),
        (LOAD_WORD, 0, 0, SECOND_ARGUMENT), (JUMP_IF_LESS_NOT, 0, 1, int(count)), (RETURN, 0, 0, REFUSE | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ])


def hide_proc_sys():
    check(libc.unshare(CLONE_NEWNS), "unshare")
    check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    check(libc.mount(b"none", b"/proc/sys", b"tmpfs", 0, None), "mount /proc/sys")


def main():
    words = sys.argv[1:]
    while words and words[0].startswith("--"):
        flag, _, value = words.pop(0).partition("=")
        if flag == "--no-io-uring":
            refuse_io_uring(value)
        elif flag == "--few-submissions":
            refuse_many_submissions(value)
        else:
            {"--no-clock-calls": refuse_clock_calls, "--no-landlock": refuse_landlock, "--no-proc-sys": hide_proc_sys}[flag]()
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
