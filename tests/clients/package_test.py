#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the client library and uses it as the project of a stranger does: find_package, pkg-config, add_subdirectory.

Both compilers build programs, shared and static, and each sends messages to a server and receives them.
"""

import os
import pathlib
import re
import shutil
import subprocess
import unittest.mock

import abi
from pawl_server import ROOT, ServedTest, main

PLACE = ROOT / "build" / "clients" / "package"
ALONE, PREFIX = PLACE / "alone", PLACE / "prefix"
CLIENT = ROOT / "net" / "client"
EXAMPLES = CLIENT / "examples"
COMPILERS = [name for name in ("g++", "clang++-19") if shutil.which(name)]
OBJECTS_MAX = 27
SECONDS = 300

STRANGER = """
cmake_minimum_required(VERSION 3.25)
project(stranger LANGUAGES CXX)
add_subdirectory({client} client)
add_executable(producer {examples}/producer.cc)
add_executable(consumer {examples}/consumer.cc)
target_link_libraries(producer PRIVATE pawl::client)
target_link_libraries(consumer PRIVATE pawl::client)
"""


def run(*command, **words):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False, **words)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def build(source, folder, compiler, *settings, flags="-O1 -Wall -Werror"):
    launcher = ["-D", "CMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", "-D", f"CMAKE_CXX_COMPILER={compiler}", "-D", f"CMAKE_CXX_FLAGS={flags}",
        *launcher, *settings)
    run("cmake", "--build", folder, "-j", os.cpu_count() or 1)


def symbols(file, *options):
    """The defined global symbols of a library, mangled, without versions."""
    lines = (line.split() for line in run("nm", "--defined-only", *options, file).splitlines())
    return {words[2].split("@")[0] for words in lines if len(words) == 3 and (words[1].isupper() or words[1] in "uvw") and words[1] != "A"}


def objects(folder):
    return [file for file in folder.rglob("*.o") if "pawl_client_objects" in str(file) or "pawl_codec" in str(file)]


class Package(ServedTest):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(PLACE, ignore_errors=True)
        build(CLIENT, ALONE, COMPILERS[0], flags="-O1 -g -Wall -Werror")
        run("cmake", "--install", ALONE, "--prefix", PREFIX, "--component", "client")
        super().setUpClass()

    def port(self):
        return self.pawl.ready["binary"].rsplit(":", 1)[1]

    def exchange(self, producer, consumer):
        """Sends lines with one program and receives them with the other."""
        queue = f"{producer.parent.name}-{producer.parent.parent.name}"
        run(producer, queue, self.port(), input="one\ntwo\n")
        self.assertEqual(run(consumer, queue, self.port()), "one\ntwo\n")

    def test_an_install_skips_a_component_that_was_not_built_and_says_how_to_build_it(self):
        folder, prefix = PLACE / "unbuilt", PLACE / "unbuilt_prefix"
        run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja")
        out = run("cmake", "--install", folder, "--prefix", prefix)
        for component, targets in (("server", "pawl"), ("client", "pawl_shared pawl_static")):
            self.assertIn(f"{component} was not built, so it is not installed: cmake --build {folder} --target {targets}\n", out)
            named = subprocess.run(["cmake", "--install", folder, "--prefix", prefix, "--component", component],
                                   capture_output=True, text=True, timeout=SECONDS, check=False)
            self.assertNotEqual(named.returncode, 0)
            self.assertIn(f"{component} was not built", named.stderr)
        self.assertEqual([file for file in prefix.rglob("*") if file.is_file()], [])

    def test_a_program_in_c_links_with_its_own_compiler(self):
        environment = os.environ | {"PKG_CONFIG_PATH": str(PREFIX / "lib" / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "pawl", env=environment).split()
        program = PLACE / "hello"
        run("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", EXAMPLES / "hello.c", *flags, f"-Wl,-rpath,{PREFIX / 'lib'}", "-o",
            program)
        self.assertEqual(run(program, "in_c", self.port()), "hello\n")

    def test_every_file_of_the_component_belongs_to_the_client(self):
        there = {str(file.relative_to(PREFIX)) for file in PREFIX.rglob("*") if not file.is_dir()}
        headers = {f"include/pawl/{file.name}" for file in (CLIENT / "pawl").iterdir()}
        libraries = {f"lib/{name}" for name in ("libpawl.a", "libpawl.so", "libpawl.so.0", "libpawl.so.0.1.0", "pkgconfig/pawl.pc")}
        packages = {f"lib/cmake/pawl/pawl-{name}.cmake" for name in ("config", "config-version", "targets", "targets-noconfig")}
        self.assertEqual(there, headers | libraries | packages)

    def test_the_shared_library_exports_the_public_classes_alone(self):
        library = PREFIX / "lib" / "libpawl.so"
        exported = run("nm", "-DC", "--defined-only", library).splitlines()
        names = [line.split(maxsplit=2)[2] for line in exported if " A " not in line]
        self.assertGreater(len(names), 50)
        for name in names:
            self.assertRegex(name.split("@")[0], r"^(pawl::(Client|Consumer|Producer)::|pawl_[a-z_]+$)")
            self.assertNotIn("::Impl::", name)
        dynamic = run("readelf", "-d", library)
        self.assertEqual(re.findall(r"SONAME.*\[(.*)\]", dynamic), ["libpawl.so.0"])
        needed = {name.split(".so")[0] for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)}
        self.assertLessEqual(needed, {"libssl", "libcrypto", "libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64"})

    def test_the_archive_has_the_symbols_of_the_shared_library(self):
        archive = PREFIX / "lib" / "libpawl.a"
        shared = symbols(PREFIX / "lib" / "libpawl.so", "-D")
        self.assertEqual(symbols(archive, "-g"), shared)
        wanted = run("nm", "-uC", archive)
        self.assertIn(" U SSL_do_handshake", wanted)
        self.assertEqual(re.findall(r".*(?:fmt::|XXH|simdjson|io_uring|mi_malloc|pawl::).*", wanted), [])

    def test_the_binary_interface_is_the_recorded_one(self):
        library = PREFIX / "lib" / "libpawl.so"
        self.assertEqual(abi.differences(library), [], "a line that goes needs another SONAME; then, or after an addition, run "
                         f"tests/clients/abi.py --update {library}")
        fewer = abi.recorded() - {"type pawl::Verdict::Kind: later = 3"}
        with unittest.mock.patch("abi.recorded", return_value=fewer | {"function pawl::Client::gone()"}):
            self.assertEqual(abi.differences(library), ["- function pawl::Client::gone()", "+ type pawl::Verdict::Kind: later = 3"])

    def test_the_reference_is_made_of_the_headers(self):
        run("cmake", "--build", ALONE, "--target", "reference")  # any warning is an error
        pages = ALONE / "package" / "reference"
        for page, text in (
            ("classpawl_1_1Producer", "Never blocks."),
            ("structpawl_1_1Consumer_1_1Options", "messages under way"),
            ("structpawl__options", "the access key, for servers that require one"),
            ("client_8h", "There are two ways to use it."),
        ):
            with self.subTest(page=page):
                self.assertIn(text, (pages / f"{page}.html").read_text())

    def test_few_objects_are_compiled(self):
        self.assertLess(len(objects(ALONE)), OBJECTS_MAX)

    def test_find_package_gives_both_libraries(self):
        for compiler, library in zip((COMPILERS[0], COMPILERS[-1]), ("pawl::client", "pawl::client_static")):
            with self.subTest(compiler=compiler, library=library):
                folder = PLACE / f"find_{library[6:]}" / "examples"
                build(EXAMPLES, folder, compiler, "-D", f"CMAKE_PREFIX_PATH={PREFIX}", "-D", f"PAWL_LIBRARY={library}")
                needed = run("readelf", "-d", folder / "example_consumer")
                self.assertEqual("libpawl.so.0]" in needed, library == "pawl::client")
                self.exchange(folder / "example_producer", folder / "example_consumer")
                self.assertEqual(run(folder / "example_hello", library[6:], self.port()), "hello\n")

    def test_pkg_config_gives_both_libraries(self):
        environment = os.environ | {"PKG_CONFIG_PATH": str(PREFIX / "lib" / "pkgconfig")}
        for compiler, static in zip((COMPILERS[-1], COMPILERS[0]), (False, True)):
            with self.subTest(compiler=compiler, static=static):
                folder = PLACE / f"pkg_{'static' if static else 'shared'}" / "programs"
                folder.mkdir(parents=True, exist_ok=True)
                flags = run("pkg-config", "--cflags", "--libs", *(["--static"] if static else []), "pawl", env=environment).split()
                if static:
                    flags = ["-l:libpawl.a" if flag == "-lpawl" else flag for flag in flags]
                for name in ("producer", "consumer"):
                    run(compiler, "-std=c++2b", EXAMPLES / f"{name}.cc", *flags, f"-Wl,-rpath,{PREFIX / 'lib'}", "-o", folder / name)
                self.assertEqual("libpawl.so.0]" in run("readelf", "-d", folder / "producer"), not static)
                self.exchange(folder / "producer", folder / "consumer")

    def test_add_subdirectory_builds_the_library_alone(self):
        source = PLACE / "stranger"
        source.mkdir(parents=True, exist_ok=True)
        (source / "CMakeLists.txt").write_text(STRANGER.format(client=CLIENT, examples=EXAMPLES))
        folder = source / "build"
        absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("fmt", "simdjson", "mimalloc", "GTest", "CLI11")]
        build(source, folder, COMPILERS[-1], *absent)
        self.assertLess(len(objects(folder)), OBJECTS_MAX)
        self.assertEqual(list(folder.rglob("libpawl.so*")), [])
        self.exchange(folder / "producer", folder / "consumer")


if __name__ == "__main__":
    main()
