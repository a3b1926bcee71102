# SPDX-License-Identifier: Apache-2.0
"""Builds the bridges of go/ with Debian's packages of AWS's SDKs for Go: no modules, no network."""

import os
import shutil
import subprocess

from client import NotHere
from pawl_server import HERE, ROOT

SOURCE = HERE / "go"
PLACE = ROOT / "build" / "clients" / "go"
GOPATH = "/usr/share/gocode"


def install(version, package):
    """Builds the bridge of the source file `version`; `package` is the required directory of GOPATH."""
    if not shutil.which("go"):
        raise NotHere("go is not installed")
    if not os.path.isdir(f"{GOPATH}/src/github.com/aws/{package}"):
        raise NotHere(f"Debian's golang-github-aws-{package}-dev is not installed")
    PLACE.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, GO111MODULE="off", GOPATH=GOPATH, GOFLAGS="-mod=mod", GOCACHE=str(PLACE / "cache"))
    built = subprocess.run(["go", "build", "-o", str(PLACE / version), str(SOURCE / "bridge.go"), str(SOURCE / f"{version}.go")],
                           env=environment, capture_output=True, text=True, timeout=600, check=False)
    if built.returncode:
        raise RuntimeError(f"the bridge {version}.go does not build: {built.stderr}")
