#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/layers refuses what it should and lets through what it should: each case is a small tree."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAYERS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "layers"
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("layers", str(LAYERS))
layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("layers", loader))
loader.exec_module(layers)

# file, what it includes, part of the complaint; "" where it is allowed
CASES = [
    ("core/queue/a.cc", '"core/base/b.h"', ""),
    ("core/queue/a.cc", "<vector>", ""),
    ("core/queue/a.cc", '"proto/b.h"', "core/queue may include only core/base, core/containers, core/queue"),
    ("core/queue/a.cc", '"net/server/b.h"', "core/queue may include only core/base, core/containers, core/queue"),
    ("core/queue/a.cc", "<chrono>", "read no clock"),
    ("core/queue/a.h", "<thread>", "have threads"),
    ("core/queue/a.h", "<sys/socket.h>", "only net knows sockets"),
    ("core/queue/a.cc", "<unistd.h>", "no system call"),
    ("proto/a.cc", '"core/base/b.h"', ""),
    ("proto/a.cc", '"proto/sns/b.h"', ""),
    ("proto/a.cc", '"proto/binary/b.h"', "proto may include only core/base, core/containers, core/queue, core/shard, proto, proto/auth"),
    ("proto/a.cc", '"wal/b.h"', "proto may include only core/base"),
    ("proto/sqs/a.cc", '"proto/aws/b.h"', ""),
    ("proto/sqs/a.cc", '"proto/sns/b.h"', "proto/sqs may include only"),
    ("proto/sns/a.cc", '"proto/sqs/b.h"', "proto/sns may include only"),
    ("proto/sns/a.cc", '"proto/b.h"', "proto/sns may include only"),
    ("proto/aws/a.cc", '"proto/sqs/b.h"', "core/shard, proto/aws, proto/errors, proto/text"),
    ("proto/http/a.cc", '"proto/text/b.h"', ""),
    ("proto/http/a.cc", '"proto/auth/b.h"', "core/shard, proto/http, proto/text"),
    ("proto/text/a.cc", '"proto/http/b.h"', "core/shard, proto/text"),
    ("proto/binary/a.cc", '"proto/sqs/b.h"', ""),
    ("proto/sqs/a.cc", '"proto/binary/b.h"', "proto/sqs may include only"),
    ("proto/text/a.cc", "<simdjson.h>", ""),
    ("proto/text/a.h", "<simdjson.h>", "only inside a .cc"),
    ("proto/schedule/a.cc", '"proto/text/b.h"', ""),
    ("proto/schedule/a.cc", '"proto/http/b.h"', "core/shard, proto/schedule, proto/text"),
    ("proto/schedule/zone.cc", "<absl/time/time.h>", ""),
    ("proto/schedule/a.cc", "<absl/time/time.h>", "only proto/schedule/zone.cc"),
    ("net/admin/gzip_slices.cc", "<zlib.h>", ""),
    ("net/admin/a.cc", "<zlib.h>", "only net/admin/gzip_slices.cc"),
    ("proto/text/a.h", "<openssl/evp.h>", "only inside a .cc"),
    ("proto/auth/a.cc", "<openssl/evp.h>", ""),
    ("proto/http/a.h", "<llhttp.h>", "only inside a .cc"),
    ("wal/a.cc", '"core/base/b.h"', ""),
    ("wal/a.cc", '"proto/b.h"', "wal may include only core/base, core/containers, core/queue, wal"),
    ("wal/a.cc", '"net/server/b.h"', "wal may include only core/base, core/containers, core/queue, wal"),
    ("wal/a.cc", '"wal/repair/b.h"', "wal may include only core/base, core/containers, core/queue, wal"),
    ("wal/repair/a.cc", '"wal/b.h"', ""),
    ("wal/repair/a.cc", '"tools/b.h"', "wal/repair may include only"),
    ("net/server/a.cc", '"wal/repair/b.h"', "net/server may include only"),
    ("tools/a.cc", '"wal/repair/b.h"', ""),
    ("wal/a.cc", "<liburing.h>", "know io_uring"),
    ("wal/a.cc", "<chrono>", "read no clock"),
    ("net/engine/a.cc", '"wal/b.h"', ""),
    ("net/engine/a.cc", '"proto/b.h"', "net/engine may include only"),
    ("net/engine/a.cc", '"net/io/b.h"', "net/engine may include only"),
    ("net/engine/a.cc", "<sys/timex.h>", "read no clock"),
    ("net/engine/a.cc", "<unistd.h>", "no system call"),
    ("net/events/a.cc", '"proto/text/b.h"', ""),
    ("net/events/a.cc", '"proto/http/b.h"', "net/events may include only core/base, net/events, proto/text"),
    ("net/events/a.cc", '"net/io/b.h"', "net/events may include only"),
    ("net/engine/a.cc", '"net/events/b.h"', "net/engine may include only"),
    ("net/io/a.cc", '"net/events/b.h"', ""),
    ("net/connection/a.cc", '"net/events/b.h"', ""),
    ("net/io/a.cc", '"net/engine/b.h"', ""),
    ("net/io/a.cc", '"net/connection/b.h"', "net/io may include only"),
    ("net/connection/a.cc", '"proto/b.h"', ""),
    ("net/connection/a.cc", '"net/server/b.h"', "net/connection may include only"),
    ("net/connection/a.cc", '"net/admin/b.h"', "net/connection may include only"),
    ("net/admin/a.cc", '"net/connection/b.h"', ""),
    ("net/admin/a.cc", '"net/server/b.h"', "net/admin may include only"),
    ("net/server/a.cc", '"net/admin/b.h"', ""),
    ("net/a.cc", '"core/base/b.h"', "net is no room"),
    ("net/server/a.cc", '"tools/b.h"', "net/server may include only"),
    ("net/io/a.cc", "<linux/io_uring.h>", "laid out wrongly"),
    ("net/server/a.cc", "<CLI/CLI.hpp>", "only tools/command_line.cc"),
    ("net/server/a.cc", "<toml++/toml.h>", "belongs to tools"),
    ("net/client/a.cc", '"proto/binary/b.h"', ""),
    ("net/client/a.cc", '"proto/sqs/b.h"', "net/client may include only"),
    ("net/client/a.cc", '"net/server/b.h"', "net/client may include only"),
    ("tools/a.cc", '"net/server/b.h"', ""),
    ("tools/a.cc", "<CLI/CLI.hpp>", "only tools/command_line.cc"),
    ("tools/command_line.cc", "<CLI/CLI.hpp>", ""),
    ("tests/tools/a.cc", "<CLI/CLI.hpp>", "only tools/command_line.cc"),
    ("tools/command_line.h", "<CLI/CLI.hpp>", "only inside a .cc"),
    ("tools/a.h", "<CLI/CLI.hpp>", "only inside a .cc"),
    ("tools/a.cc", "<gtest/gtest.h>", "test library"),
    ("bench/a.cc", '"net/client/b.h"', ""),
    ("bench/a.cc", '"net/server/b.h"', "bench may include only"),
    ("bench/micro_a.cc", '"tests/b.h"', ""),
    ("bench/load_a.cc", '"tests/b.h"', "bench may include only"),
    ("tests/core/a.cc", '"net/server/b.h"', ""),
    ("tests/core/a.cc", "<linux/io_uring.h>", "laid out wrongly"),
    ("bench/a.cc", "<pawl/b.h>", ""),
    ("tests/net/a.cc", '"pawl/b.h"', ""),
    ("proto/a.cc", "<pawl/b.h>", "proto may include only core/base"),
    ("core/queue/a.cc", '"b.h"', "by their path from the root"),
    ("core/queue/a.cc", '"core/base/missing.h"', "by their path from the root"),
    ("core/base/b.cc", '"core/base/b.h"', ""),
    ("core/base/a.cc", '"core/queue/b.h"', "core/base may include only core/base"),
    ("core/containers/a.cc", '"core/queue/b.h"', "core/containers may include only core/base, core/containers"),
    ("core/queue/a.cc", '"core/shard/b.h"', "core/queue may include only"),
    ("core/shard/a.cc", '"core/queue/b.h"', ""),
    ("core/a.cc", '"core/base/b.h"', "core is no room"),
    ("wal/a.cc", '"core/shard/b.h"', "wal may include only"),
    ("wal/format/a.cc", '"wal/b.h"', "wal/format may include only"),
    ("wal/segments/a.cc", '"wal/b.h"', "wal/segments may include only"),
    ("wal/recovery/a.cc", '"wal/b.h"', ""),
    ("wal/a.cc", '"wal/recovery/b.h"', "wal may include only"),
    ("tools/verbs/a.cc", '"tools/doctor/b.h"', ""),
    ("tools/doctor/a.cc", '"tools/verbs/b.h"', "tools/doctor may include only"),
    ("tools/a.cc", '"tools/verbs/b.h"', "tools may include only"),
    ("core/base/b.cc", "<vector>", "core/base/b.h comes first"),
]


def tree(place, file, header):
    root = pathlib.Path(place)
    for folder in ("core/base", "core/containers", "core/queue", "core/shard", "proto", "proto/text", "proto/http", "proto/auth", "proto/aws", "proto/sqs", "proto/sns", "proto/binary", "wal", "wal/format", "wal/segments", "wal/recovery", "wal/repair", "net/engine", "net/events", "net/io", "net/connection", "net/admin", "net/server", "net/client/pawl", "net/client",
                   "tools", "tools/doctor", "tools/verbs", "tests"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "b.h").touch()
    source = root / file
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(f"// first line\n#include {header}\n")
    return root


class Layers(unittest.TestCase):
    def test_each_include_is_judged_and_named_with_file_and_line(self):
        for file, header, complaint in CASES:
            with self.subTest(f"{file} includes {header}"), tempfile.TemporaryDirectory() as place:
                found = list(layers.offences(tree(place, file, header)))
                if not complaint:
                    self.assertEqual(found, [])
                    continue
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{file}:2: "), found)
                self.assertIn(complaint, found[0])

    def test_the_exit_code_says_whether_there_was_an_offence(self):
        for header, code in (('"core/base/b.h"', 0), ('"net/server/b.h"', 1)):
            with tempfile.TemporaryDirectory() as place:
                tree(place, "core/queue/a.cc", header)
                self.assertEqual(subprocess.run([LAYERS, place], capture_output=True, check=False).returncode, code)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - min(bad, result.testsRun)} passed, {min(bad, result.testsRun)} failed")
    sys.exit(1 if bad else 0)
