#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libpawl.so as lines of text: exported functions, sizes and members of public types.

    tests/clients/abi.py LIBRARY            prints what differs from net/client/package/libpawl.abi; exit code 1: something does
    tests/clients/abi.py --update LIBRARY   writes that file

The library needs debug information. A line that goes or changes breaks programs that were linked before: it needs a new SONAME.
"""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

CLIENT = pathlib.Path(__file__).resolve().parents[2] / "net" / "client"
RECORDED = CLIENT / "package" / "libpawl.abi"


class Types:
    """The type names of an ABI dump, by their ids."""

    WRAPPERS = {"pointer-type-def": "{}*", "reference-type-def": "{}&", "qualified-type-def": "const {}"}

    def __init__(self, dump):
        self.names, self.wrapped = {}, {}
        self.collect(dump, [])

    def collect(self, element, scope):
        for child in element:
            named = child.tag in ("namespace-decl", "class-decl", "union-decl", "enum-decl", "type-decl", "typedef-decl", "array-type-def")
            inner = scope + [child.get("name") or "?"] if named else scope
            if child.get("id") and named:
                self.names[child.get("id")] = "::".join(inner)
            elif child.get("id") and child.tag in self.WRAPPERS:
                self.wrapped[child.get("id")] = (self.WRAPPERS[child.tag], child.get("type-id"))
            self.collect(child, inner)

    def name(self, type_id):
        if type_id in self.wrapped:
            wrapper, inner = self.wrapped[type_id]
            return wrapper.format(self.name(inner))
        return self.names.get(type_id, "function")


def is_public(name):
    return name.startswith("pawl::") or name.startswith("pawl_")


def types_of(element, scope, types):
    """The lines of public types within an element of the dump."""
    for child in element:
        inner = scope + [child.get("name") or "?"] if child.tag in ("namespace-decl", "class-decl", "enum-decl") else scope
        name = "::".join(inner)
        if child.tag == "class-decl" and is_public(name) and not child.get("is-declaration-only"):
            yield f"type {name}: {int(child.get('size-in-bits')) // 8} bytes"
            for member in child.iter("data-member"):
                if member in list(child) and member.get("layout-offset-in-bits") is not None:
                    variable = member.find("var-decl")
                    offset = int(member.get("layout-offset-in-bits")) // 8
                    yield f"type {name}: {variable.get('name')} at {offset}, {types.name(variable.get('type-id'))}"
        if child.tag == "enum-decl" and is_public(name) and not child.get("is-declaration-only"):
            for value in child.iter("enumerator"):
                yield f"type {name}: {value.get('name')} = {value.get('value')}"
        yield from types_of(child, inner, types)


def is_described(line, classes):
    """True for the enums of public classes; the dump also has those of the library's own code."""
    name = line.split()[1].rstrip(":")
    return any(name == known or name.startswith(known + "::") for known in classes)


def interface_of(library):
    dump = subprocess.run(["abidw", "--headers-dir", CLIENT / "pawl", "--drop-private-types", "--drop-undefined-syms", library],
                          capture_output=True, text=True, check=True).stdout
    root = ElementTree.fromstring(dump)
    lines = set(types_of(root, [], Types(root)))
    classes = {line.split()[1].rstrip(":") for line in lines if line.endswith(" bytes")}
    lines = {line for line in lines if is_described(line, classes)}
    exported = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    functions = (line.split(maxsplit=2) for line in exported.splitlines())
    return lines | {"function " + words[2].split("@")[0] for words in functions if len(words) == 3 and words[1] != "A"}


def recorded():
    return {line for line in RECORDED.read_text().splitlines() if line and not line.startswith("#")}


def differences(library):
    now, before = interface_of(library), recorded()
    return [f"- {line}" for line in sorted(before - now)] + [f"+ {line}" for line in sorted(now - before)]


def main():
    library = sys.argv[-1]
    if sys.argv[1:2] == ["--update"]:
        head = ["# The binary interface of libpawl.so.0 on x86-64, made by tests/clients/abi.py --update."]
        RECORDED.write_text("\n".join(head + sorted(interface_of(library))) + "\n")
        return 0
    found = differences(library)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
