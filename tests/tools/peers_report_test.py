#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of bench/peers/run: medians with their spread, ratios, brokers that could not run."""

import argparse
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PEERS))
import report  # noqa: E402

loader = importlib.machinery.SourceFileLoader("peers_run", str(PEERS / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers_run", loader))
loader.exec_module(run)

FLOORS = {f"{name}_{level}_us": (100, 90, 110) for name in ("write", "echo", "http") for level in ("p50", "p99")} | {
    "http_per_s": (200_000, 190_000, 210_000)}
MACHINE = {"cpu": "A CPU", "cores": 2, "memory_bytes": 2**34, "kernel": "Linux 6", "build": "1"}


def one_pass(rate, cpu=5.0):
    return {key: {"messages_per_s": rate, "p50_us": 1e6 / rate, "p99_us": 3e6 / rate, "errors": 0, "cpu_us": cpu} for key in run.WORKLOADS}


def failed(reason):
    return {key: {"failed": reason} for key in run.WORKLOADS}


def row(name, passes, durable=True):
    return {"name": name, "version": "1", "acknowledges": "a", "durable": durable, "settings": "s",
            "workloads": {key: run.summary([one[key] for one in passes]) for key in run.WORKLOADS}}


class Report(unittest.TestCase):
    def written(self, rows):
        """RESULTS.md and the plots by name."""
        results = {"machine": MACHINE, "seconds": 1, "passes": 3, "body": 1024, "floors": FLOORS, "rows": rows}
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory)
            report.write(out, results, run.WORKLOADS)
            self.assertEqual(len(json.loads((out / "results/figures.json").read_text())["rows"]), len(rows))
            return (out / "RESULTS.md").read_text(), {file.stem: file.read_text() for file in (out / "results").glob("*.svg")}

    def line(self, text, workload, name):
        section = text.partition(f"## {run.WORKLOADS[workload][0]}")[2].partition("\n## ")[0]
        return next(line for line in section.splitlines() if line.startswith(f"| {name}"))

    def test_shows_the_median_with_its_spread_and_the_ratio_to_pawl(self):
        text, plots = self.written([row("pawl, binary", [one_pass(rate) for rate in (3000, 1000, 2000)]),
                                    row("Other", [one_pass(rate) for rate in (500, 400, 600)], durable=False)])
        self.assertIn("| 2,000 (1,000-3,000) |", self.line(text, "send_c16_d1", "pawl"))
        other = self.line(text, "send_c16_d1", "Other *")
        self.assertIn("| 500 (400-600) |", other)
        self.assertTrue(other.endswith("| 0.25 |"), other)
        self.assertTrue(self.line(text, "send_c1_d1", "Other *").endswith("| 4.00 |"), "of p50, which is the median pass's inverse")
        self.assertIn("acknowledges a send before it is on the disk", text)
        self.assertEqual(set(plots), set(run.WORKLOADS))
        for plot in plots.values():
            xml.dom.minidom.parseString(plot)
            self.assertIn("Other *", plot)

    def test_says_why_a_broker_has_no_figures(self):
        text, plots = self.written([row("pawl, binary", [one_pass(1000)]), row("Gone", [one_pass(9), failed("package gone | is missing")])])
        self.assertIn("| Gone | package gone / is missing |", self.line(text, "paced_500", "Gone"))
        self.assertNotIn("Gone", plots["paced_500"])

    def test_needs_neither_pawl_nor_cpu_times(self):
        text, _ = self.written([row("http://host/1", [one_pass(1000, cpu=None)], durable=False)])
        self.assertIn("| http://host/1 * | 1,000 (1,000-1,000) |", self.line(text, "send_c16_d1", "http"))

    def test_loads_an_sqs_endpoint_singly_and_in_batches_of_ten(self):
        options = argparse.Namespace(build=pathlib.Path("b"), url=["http://host/1/"], body=64, seconds=1, warm_up=0.5)
        loads = []

        def record(command, workload, connections, depth, rate, body, seconds, batch=1):
            loads.append((command[1][1], connections, depth, batch))
            return {"messages_per_s": 1, "p50_us": 1, "p99_us": 1, "errors": 0, "messages": 1}

        single, batches = run.endpoints_of(options)
        self.assertEqual((single.name, batches.name), ("http://host/1/", "http://host/1/, batches of 10"))
        with unittest.mock.patch.object(run, "generate", record):
            for endpoint in (single, batches):
                self.assertEqual(set(run.measure(endpoint, options)), set(run.WORKLOADS))
        half = len(loads) // 2
        self.assertEqual({batch for *_, batch in loads[:half]}, {1})
        self.assertEqual({batch for *_, batch in loads[half:]}, {10})
        self.assertEqual([load[1:3] for load in loads[:half]], [load[1:3] for load in loads[half:]], "as many requests in flight")
        self.assertFalse({load[0] for load in loads[:half]} & {load[0] for load in loads[half:]}, "the rows share no queue")
        self.assertIn(("http://host/1/send_c16_d16", 256, 1, 1), loads)

    def test_loads_pawl_in_batches_of_ten_too(self):
        self.assertEqual({kind.name: kind.batch for kind in run.brokers.ALL if kind.batch > 1}, {"pawl, SQS batches of 10": 10})

    def test_counts_the_cpu_time_of_a_process_and_its_children(self):
        times = run.brokers.times_of_processes()
        self.assertIn(1, times)
        self.assertTrue(all(seconds >= 0 for _, seconds in times.values()))


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
