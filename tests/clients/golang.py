"""Builds the bridges of go/ from Debian's packages of AWS's SDKs for Go: without modules and without network."""

import os
import shutil
import subprocess

from client import NotHere
from pawl_server import HERE, ROOT

SOURCE = HERE / "go"
PLACE = ROOT / "build" / "clients" / "go"
GOPATH = "/usr/share/gocode"


def install(version, package):
    """`version` names the source file; `package` the directory of GOPATH that must be there."""
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
