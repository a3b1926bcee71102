#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Queries, formats and compression of /metrics, and /cloudwatch.json, as tools/METRICS.md describes them."""

import contextlib
import gzip
import http.client
import json
import re
import sys
import unittest
import urllib.parse
import zlib

from metrics_test import Served

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
# Endings of the samples of a family, by its type. OpenMetrics 1.0.0, "Overall structure".
ENDINGS = {"gauge": ("",), "counter": ("_total",), "summary": ("", "_sum", "_count"), "histogram": ("_bucket", "_sum", "_count")}
CLOUDWATCH = {"ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
              "ApproximateAgeOfOldestMessage", "NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfMessagesDeleted"}


def labels_of(text):
    """The labels of a sample, which must be all of the text."""
    label = r'([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"'
    if not re.fullmatch(f"(?:{label}(?:,{label})*)?", text):
        raise ValueError(f"labels {text}")
    pairs = re.findall(label, text)
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError(f"a label twice in {text}")
    return dict(pairs)


class OpenMetrics:
    """A strict reader of a text: families by name, each with its type, help and samples."""

    def __init__(self, text):
        self.families, self.series, self.family = {}, set(), None
        if not text.endswith("\n# EOF\n") or text.count("# EOF") != 1:
            raise ValueError("the text does not end with # EOF")
        for line in text.split("\n")[:-2]:
            if line.startswith("#"):
                self.read_head(line)
            else:
                self.read_sample(line)
        taken = [name + ending for name, family in self.families.items() for ending in {"", *ENDINGS[family["type"]], "_created"}]
        clashes = {name for name in taken if taken.count(name) > 1}
        if clashes:
            raise ValueError(f"names that two families have: {clashes}")
        for name, family in self.families.items():
            if family["type"] == "histogram":
                self.check_histogram(name, family["samples"])

    def read_head(self, line):
        match = re.fullmatch(r"# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)", line)
        if not match:
            raise ValueError(f"not a head: {line}")
        kind, name, text = match.groups()
        if name != self.family:
            if name in self.families:
                raise ValueError(f"the family {name} is in two places")
            self.family, self.families[name] = name, {"samples": []}
        family = self.families[name]
        if kind.lower() in family or family["samples"]:
            raise ValueError(f"a late or second head: {line}")
        if kind == "TYPE" and text not in ENDINGS or kind == "HELP" and re.search(r'(?<!\\)"|\\(?![\\"n])', text):
            raise ValueError(f"a wrong head: {line}")
        family[kind.lower()] = text

    def read_sample(self, line):
        match = re.fullmatch(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)", line)
        if not match or self.family is None:
            raise ValueError(f"not a sample: {line}")
        name, labels, number = match[1], labels_of(match[2] or ""), match[3]
        family = self.families[self.family]
        if not name.startswith(self.family) or name[len(self.family):] not in ENDINGS[family["type"]]:
            raise ValueError(f"{name} in the {family['type']} {self.family}")
        if not re.fullmatch(r"[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)", number):
            raise ValueError(f"the number {number} in {line}")
        if family["type"] != "gauge" and float(number) < 0:
            raise ValueError(f"a negative sum: {line}")
        for label, needed in (("le", name.endswith("_bucket")), ("quantile", family["type"] == "summary" and name == self.family)):
            if needed != (label in labels) or needed and not re.fullmatch(r"\d+\.\d+|\d(?:\.\d+)?e-\d+|\+Inf", labels[label]):
                raise ValueError(f"the label {label} of {line}")
        series = (name, tuple(sorted(labels.items())))
        if series in self.series:
            raise ValueError(f"a series twice: {line}")
        self.series.add(series)
        family["samples"].append((name, labels, float(number)))

    @staticmethod
    def check_histogram(name, samples):
        buckets, counts = {}, {}
        for sample, labels, number in samples:
            key = tuple(sorted((label, value) for label, value in labels.items() if label != "le"))
            if sample == f"{name}_bucket":
                buckets.setdefault(key, []).append((float(labels["le"]), number))
            elif sample == f"{name}_count":
                counts[key] = number
        for key, rows in buckets.items():
            if rows != sorted(rows) or [number for _, number in rows] != sorted(number for _, number in rows):
                raise ValueError(f"the buckets of {name} {key} are in no order")
            if rows[-1] != (float("inf"), counts.get(key)):
                raise ValueError(f"the last bucket of {name} {key} is not its count")


def series_of(text):
    return sorted(line.rsplit(" ", 1)[0] for line in text.splitlines() if line and not line.startswith("#"))


class MetricsFormats(Served):
    def make(self, *names, **attributes):
        return [self.pawl.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"] for name in names]

    def ask(self, path, method="GET", **headers):
        with contextlib.closing(http.client.HTTPConnection(self.pawl.ready["admin"], timeout=20)) as connection:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer, answer.read()

    def get(self, path, **headers):
        answer, body = self.ask(path, **headers)
        self.assertEqual(answer.status, 200, body)
        return body.decode()

    def refused(self, path, status):
        answer, body = self.ask(path)
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (status, "text/plain; charset=utf-8"), body)
        self.assertTrue(body.endswith(b"\n") and body.count(b"\n") == 1, body)
        return body.decode()

    def test_queries_choose_queues_and_families(self):
        self.start("--shards", "2")
        self.make("a", "b", "c")
        chosen = self.get("/metrics?queue=a&queue=%63")
        queues = set(re.findall(r'\{queue="([^"]*)"', chosen))
        self.assertEqual(queues, {"a", "c"})
        self.assertEqual([line for line in chosen.splitlines() if not re.search(r"^#|\{queue=", line)], [])
        all_of_a = [line for line in series_of(self.get("/metrics")) if 'queue="a"' in line]
        self.assertEqual(series_of(self.get("/metrics?queue=a")), all_of_a)
        both = self.get("/metrics?queue=a&family=pawl_queue_messages&family=pawl_messages_sent_total")
        self.assertEqual(set(re.findall(r"^# TYPE (\S+)", both, re.M)), {"pawl_queue_messages", "pawl_messages_sent_total"})
        self.assertEqual(len(series_of(both)), 4)
        server = self.get("/metrics?family=process_open_fds&family=pawl_global_messages_sent_total")
        self.assertEqual(series_of(server), ["pawl_global_messages_sent_total", "process_open_fds"])

    def test_each_family_can_be_chosen(self):
        self.start()
        self.make("a")
        text = self.get("/metrics")
        names = re.findall(r"^# TYPE (\S+)", text, re.M)
        self.assertGreater(len(names), 80)
        for name in names:
            chosen = self.get(f"/metrics?family={name}")
            self.assertEqual(re.findall(r"^# TYPE (\S+)", chosen, re.M), [name])
        found = []
        for begin in range(0, len(names), 50):
            found += series_of(self.get("/metrics?" + "&".join(f"family={name}" for name in names[begin:begin + 50])))
        self.assertEqual(sorted(found), series_of(text))

    def test_wrong_queries_are_refused_with_the_reason(self):
        self.start("--metrics-queues", "1")
        self.make("a", "b")
        for path, status, texts in (
                ("/metrics?queue=nothing", 404, ("no queue `nothing`", "/queues")),
                ("/metrics?queue=b", 404, ("no queue `b`", "--metrics-queues", "`__other__`")),
                ("/metrics?family=nothing", 404, ("no family `nothing`; there are", " pawl_queue_messages ", " process_open_fds")),
                ("/metrics?queue=a&family=process_open_fds", 400, ("`process_open_fds` has no label queue", " pawl_queue_messages ")),
                ("/metrics?name=a", 400, ("unknown parameter `name`", "queue=NAME and family=NAME")),
                ("/metrics?queue=", 400, ("`queue` has no name",)),
                ("/metrics?queue=%2", 400, ("% without two hexadecimal digits",)),
                ("/metrics?" + "queue=a&" * 101, 400, ("more than 100 parameters",)),
                ("/cloudwatch.json?queue=b", 404, ("no queue `b`",)),
                ("/cloudwatch.json?family=a", 400, ("unknown parameter `family`; /cloudwatch.json allows queue=NAME",))):
            text = self.refused(path, status)
            for part in texts:
                self.assertIn(part, text)
        self.assertIn('{queue="__other__"', self.get("/metrics?queue=__other__"))
        answer, body = self.ask("/metrics?queue=b", method="HEAD")
        self.assertEqual((answer.status, body), (404, b""))

    def test_gzip_has_the_bytes_of_the_plain_page(self):
        self.start("--shards", "2")
        self.make(*(f"q{number:03}-{'n' * 60}" for number in range(700)))
        families = re.findall(r'^(\w+?)(?:_count|_sum)?\{queue="q000', self.get("/metrics"), re.M)
        path = "/metrics?" + "&".join(f"family={name}" for name in sorted(set(families)))
        plain = self.get(path)  # nothing is sent, so the numbers stay
        self.assertGreater(len(plain), 1_000_000)
        self.assertEqual(self.get(path), plain)
        answer, body = self.ask(path, Accept_Encoding="deflate, gzip;q=0.5")
        self.assertEqual(answer.headers["Content-Encoding"], "gzip")
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertEqual(gzip.decompress(body).decode(), plain)
        self.assertLess(len(body), len(plain) / 10)
        for encodings in ("identity", "gzip;q=0", "br", "gzip;q=0.5, identity"):
            answer, body = self.ask(path, Accept_Encoding=encodings)
            self.assertIsNone(answer.headers["Content-Encoding"], encodings)
            self.assertEqual(body.decode(), plain)
        for path in ("/queues", "/cloudwatch.json"):
            _, body = self.ask(path, Accept_Encoding="gzip")
            self.assertEqual(sorted(gzip.decompress(body).splitlines()), sorted(self.get(path).encode().splitlines()))
        answer, body = self.ask("/metrics", method="HEAD", Accept_Encoding="gzip")
        self.assertEqual((answer.status, answer.headers["Content-Encoding"], body), (200, "gzip", b""))

    def test_gzip_ends_with_its_stream(self):
        self.start()
        _, body = self.ask("/metrics", Accept_Encoding="gzip")
        stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        text = stream.decompress(body).decode()
        self.assertTrue(stream.eof)
        self.assertEqual(stream.unused_data, b"")
        self.assertEqual(series_of(text), series_of(self.get("/metrics")))

    def test_open_metrics_is_chosen_by_accept(self):
        self.start("--shards", "2")
        url, _ = self.make("orders", "more")
        self.pawl.call("SendMessage", QueueUrl=url, MessageBody="x")
        plain = self.get("/metrics", Accept="*/*")
        self.assertNotIn("# EOF", plain)
        answer, body = self.ask("/metrics", Accept=OPEN_METRICS)
        self.assertEqual(answer.headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        text = body.decode()
        found = OpenMetrics(text)
        self.assertEqual(found.families["pawl_messages_sent"]["type"], "counter")
        self.assertIn(("pawl_messages_sent_total", {"queue": "orders", "account": "000000000000"}, 1.0),
                      found.families["pawl_messages_sent"]["samples"])
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)", plain, re.M))
        self.assertEqual({name + "_total" * (family["type"] == "counter"): family["type"] for name, family in found.families.items()}, types)
        whole = re.compile(r'(le="\d+)\.0"')
        self.assertEqual([whole.sub(r'\1"', line) for line in series_of(text)], [whole.sub(r'\1"', line) for line in series_of(plain)])
        OpenMetrics(self.get("/metrics?queue=orders", Accept=OPEN_METRICS))
        OpenMetrics(self.get("/metrics?family=process_open_fds", Accept=OPEN_METRICS))
        _, body = self.ask("/metrics", Accept=OPEN_METRICS, Accept_Encoding="gzip")
        OpenMetrics(gzip.decompress(body).decode())
        if text_string_to_metric_families is not None:
            self.assertGreater(len(list(text_string_to_metric_families(text))), 80)

    def test_the_reader_of_open_metrics_is_strict(self):
        good = '# HELP a A.\n# TYPE a counter\na_total{x="1"} 2\n# EOF\n'
        OpenMetrics(good)
        for old, new in (("a_total{", "a{"), ("# EOF\n", ""), (" 2\n", " x\n"), (" 2\n", " -2\n"), ('"1"', '"1'), ("TYPE a", "TYPE b"),
                         ("counter", "thing"), ("# EOF", 'a_total{x="1"} 2\n# EOF'), ("# HELP a A.\n", '# HELP a "A".\n'),
                         ("# EOF", "# HELP b B.\n# TYPE b gauge\n# HELP a A.\n# EOF")):
            with self.assertRaises(ValueError, msg=new):
                OpenMetrics(good.replace(old, new))
        buckets = '# TYPE h histogram\nh_bucket{le="1.0"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n# EOF\n'
        OpenMetrics(buckets)
        for old, new in (("1.0", "1"), ("} 2", "} 3"), ("} 1", "} 9"), ("h_count 2\n", "")):
            with self.assertRaises(ValueError, msg=new):
                OpenMetrics(buckets.replace(old, new))

    def test_cloudwatch_names_are_those_of_aws(self):
        self.start("--shards", "2")
        url, _ = self.make("orders", "idle")
        fifo = self.make("tasks.fifo", FifoQueue="true", ContentBasedDeduplication="true")[0]
        for number in range(5):
            self.pawl.call("SendMessage", QueueUrl=url, MessageBody=str(number), DelaySeconds=900 if number == 4 else 0)
        for _ in range(2):
            self.pawl.call("SendMessage", QueueUrl=fifo, MessageBody="same", MessageGroupId="g")
        received = self.pawl.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=2)["Messages"]
        self.pawl.call("DeleteMessage", QueueUrl=url, ReceiptHandle=received[0]["ReceiptHandle"])
        answer, body = self.ask("/cloudwatch.json")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        page = json.loads(body)
        self.assertEqual(page["Namespace"], "AWS/SQS")
        found = {}
        for datum in page["MetricData"]:
            self.assertEqual(set(datum), {"MetricName", "Dimensions", "AccountId", "Value", "Unit"})
            [dimension] = datum["Dimensions"]
            self.assertEqual((dimension["Name"], datum["AccountId"]), ("QueueName", "000000000000"))
            self.assertEqual(datum["Unit"], "Seconds" if "Age" in datum["MetricName"] else "Count")
            key = (dimension["Value"], datum["MetricName"])
            self.assertNotIn(key, found)
            found[key] = datum["Value"]
        for queue, more in (("orders", set()), ("idle", set()), ("tasks.fifo", {"NumberOfDeduplicatedSentMessages"})):
            self.assertEqual({name for of, name in found if of == queue}, CLOUDWATCH | more)
        count = len(received)
        for name, value in (("ApproximateNumberOfMessagesVisible", 4 - count), ("ApproximateNumberOfMessagesNotVisible", count - 1),
                            ("ApproximateNumberOfMessagesDelayed", 1), ("NumberOfMessagesSent", 5), ("NumberOfMessagesReceived", count),
                            ("NumberOfMessagesDeleted", 1)):
            self.assertEqual(found["orders", name], value, name)
            self.assertEqual(found["idle", name], 0, name)
        self.assertEqual(found["tasks.fifo", "NumberOfDeduplicatedSentMessages"], 1)
        one = json.loads(self.get(f"/cloudwatch.json?queue={urllib.parse.quote('tasks.fifo', safe='')}"))
        self.assertEqual({datum["Dimensions"][0]["Value"] for datum in one["MetricData"]}, {"tasks.fifo"})

    def test_cloudwatch_of_many_queues_is_valid(self):
        self.start("--shards", "2", "--metrics-queues", "150")
        self.assertEqual(json.loads(self.get("/cloudwatch.json")), {"Namespace": "AWS/SQS", "MetricData": []})
        self.make(*(f"q{number}" for number in range(200)))
        data = json.loads(self.get("/cloudwatch.json"))["MetricData"]
        self.assertEqual(len(data), 150 * len(CLOUDWATCH))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
