#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The seccomp profile of tools/deploy: podman's default for a container without capabilities, and the calls of io_uring.

    tests/image/seccomp_profile.py > tools/deploy/pawl-seccomp.json

A profile of podman or Docker has rules for capabilities and processors, which containerd, and so most of Kubernetes, ignores.
Here they are resolved: all engines read the result alike.
"""

import json
import pathlib
import sys
import textwrap

# Debian's package golang-github-containers-common has it.
DEFAULT = pathlib.Path("/usr/share/containers/seccomp.json")
IO_URING = ("io_uring_enter", "io_uring_register", "io_uring_setup")
# A call that a processor lacks has no effect there.
PROCESSORS = {"amd64", "x86", "x32", "arm64", "arm"}


def resolved():
    """The rules of the default that hold without capabilities, those of one action and arguments in one."""
    default = json.loads(DEFAULT.read_text())
    rules = {}
    for rule in default["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if includes.get("caps") or not set(includes.get("arches", PROCESSORS)) & PROCESSORS:
            continue
        if set(excludes.get("arches", ())) & PROCESSORS or includes.get("minKernel"):
            raise SystemExit(f"{DEFAULT} has a rule of a new kind: {rule}")
        key = (rule["action"], rule.get("errnoRet"), json.dumps(rule.get("args") or []))
        rules.setdefault(key, set()).update(rule["names"])
    return default, rules


def profile():
    default, rules = resolved()
    rules[("SCMP_ACT_ALLOW", None, "[]")].update(IO_URING)
    return {"defaultAction": default["defaultAction"], "defaultErrnoRet": default["defaultErrnoRet"],
            "syscalls": [{"names": sorted(names), "action": action, **({} if code is None else {"errnoRet": code}),
                          **({} if args == "[]" else {"args": json.loads(args)})}
                         for (action, code, args), names in rules.items()]}


def main():
    whole = profile()
    print(f'{{\n  "defaultAction": "{whole["defaultAction"]}",\n  "defaultErrnoRet": {whole["defaultErrnoRet"]},\n  "syscalls": [')
    texts = []
    for rule in whole["syscalls"]:
        names = textwrap.fill(", ".join(f'"{name}"' for name in rule.pop("names")), 118, initial_indent=" " * 8, subsequent_indent=" " * 8)
        rest = ",\n".join(f"      {json.dumps(key)}: {json.dumps(value)}" for key, value in rule.items())
        texts.append(f'    {{\n      "names": [\n{names}\n      ],\n{rest}\n    }}')
    print(",\n".join(texts) + "\n  ]\n}")


if __name__ == "__main__":
    sys.exit(main())
