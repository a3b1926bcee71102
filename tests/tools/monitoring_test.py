#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The alert rules and the dashboard of tools/deploy, read by Prometheus, and their page tools/MONITORING.md.

Real servers make ten alerts fire, two of them on a full disk, which needs root. `promtool test rules` makes all twelve fire,
from series that are written here: PawlDamage and PawlFlushSlow, which need a bad disk, fire there alone.
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

from dev_test import PAWL, DevPawl
from peek_test import ROOT, documented

PAGE = (ROOT / "tools/MONITORING.md").read_text()
RULES = ROOT / "tools/deploy/prometheus/rules.yml"
DASHBOARD = ROOT / "tools/deploy/grafana/pawl.json"
ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
INSTALLED = shutil.which("prometheus") and shutil.which("promtool")
COMPARISON = re.compile(r" (?:==|!=|>=|<=|>|<) [\d.]+")
SECONDS, DATA_SECONDS = 30, 10  # the longest wait for an alert, and for data
CERTIFICATE_DAYS = 7
QUEUES, CHURN_SECONDS = 1000, 15

REAL = {"PawlDown", "PawlRequestsFailing", "PawlCertificateEnds", "PawlThreads", "PawlDeadLetters", "PawlDeliveryLate",
        "PawlQueueNotConsumed", "PawlVisibilityTimeoutShort"}
OF_FULL_DISK = {"PawlSendsRefused", "PawlSpaceNearlyFull"}
DISK_MIB = 96
# Series of each alert, one value a minute for 90 minutes: values that make it fire, and others.
WRITTEN = {
    "PawlDown": [("up", "0+0x90", "1+0x90")],
    "PawlSendsRefused": [("pawl_sends_refused_total", "0+1x90", "7+0x90"), ("pawl_wal_disk_full", "0+0x90", "0+0x90")],
    "PawlSpaceNearlyFull": [
        ("pawl_disk_free_bytes", "9+0x90", "11+0x90"), ("pawl_disk_size_bytes", "100+0x90", "100+0x90"),
        ('pawl_memory_bytes{kind="index"}', "800+0x90", "780+0x90"), ('pawl_memory_bytes{kind="bodies"}', "200+0x90", "220+0x90"),
        ("pawl_memory_limit_bytes", "1000+0x90", "1000+0x90")],
    "PawlDamage": [("pawl_bodies_damaged_total", "0+0x90", "0+0x90"), ("pawl_shard_messages_set_aside_total", "1+0x90", "0+0x90"),
                   ("pawl_wal_unreadable_segments", "0+0x90", "0+0x90"), ("pawl_wal_files_set_aside", "0+0x90", "0+0x90")],
    "PawlFlushSlow": [('pawl_flush_seconds_bucket{le="0.1"}', "0+98x90", "0+100x90"),
                      ('pawl_flush_seconds_bucket{le="1"}', "0+100x90", "0+100x90"),
                      ('pawl_flush_seconds_bucket{le="+Inf"}', "0+100x90", "0+100x90")],
    "PawlRequestsFailing": [('pawl_requests_total{code="ok"}', "0+90x90", "0+96x90"),
                            ('pawl_requests_total{code="InternalError"}', "0+10x90", "0+4x90")],
    "PawlCertificateEnds": [("pawl_certificate_expiry_timestamp_seconds", f"{5400 + 13 * 86400}+0x90", f"{5400 + 15 * 86400}+0x90")],
    "PawlThreads": [('pawl_io_backend_info{backend="threads"}', "1+0x90", "0+0x90")],
    "PawlDeadLetters": [('pawl_messages_dead_lettered_total{queue="q"}', "0+0x85 1+0x5", "3+0x90")],
    "PawlDeliveryLate": [('pawl_messages_delivered_late_total{queue="q"}', "0+5x90", "0+5x80 400+0x10"),
                         ('pawl_messages_delivered_total{queue="q"}', "0+100x90", "0+100x90")],
    "PawlQueueNotConsumed": [('pawl_messages_sent_total{queue="q"}', "0+1x90", "0+1x90"),
                             ('pawl_messages_received_total{queue="q"}', "5+0x90", "0+1x90"),
                             ('pawl_queue_messages{queue="q",state="visible"}', "0+1x90", "3+0x90")],
    "PawlVisibilityTimeoutShort": [('pawl_deletes_late_total{queue="q"}', "0+2x90", "0+1x90"),
                                   ('pawl_messages_deleted_total{queue="q"}', "0+100x90", "0+200x90")],
}


def written(values):
    """The series of a case for promtool, with the labels of a target."""
    rows = []
    for series, *choices in values:
        name, _, labels = series.partition("{")
        rows.append((name + '{job="pawl",instance="a",shard="0",' + (labels or "}"), *choices))
    return rows


class Page(unittest.TestCase):
    def test_the_table_has_the_alerts_of_the_file(self):
        rows = re.findall(r"^\| `(Pawl\w+)` \| (\w+) \| ([^|]+) \|", PAGE, re.M)
        self.assertEqual([row[:2] for row in rows], [(rule["alert"], rule["labels"]["severity"]) for rule in ALERTS])
        self.assertEqual(len(rows), 12)
        self.assertEqual(set(WRITTEN), {rule["alert"] for rule in ALERTS})
        for (name, _, when), rule in zip(rows, ALERTS):
            waits = re.findall(r"for (\d+) (minute|hour)s?$", when.strip())
            self.assertEqual("".join(number + unit[0] for number, unit in waits), rule.get("for", ""), name)

    def test_an_alert_says_what_to_do(self):
        for rule in ALERTS:
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning", "info"))
                self.assertIn("{{ $labels.instance }}", rule["annotations"]["summary"])
                self.assertRegex(rule["annotations"]["description"], r"`[a-z].+`")
                self.assertTrue(COMPARISON.search(rule["expr"]))

    def test_the_dashboard_can_be_imported(self):
        board = json.loads(DASHBOARD.read_text())
        self.assertIsNone(board["id"], "a new dashboard has no number")
        self.assertEqual([(v["name"], v["type"]) for v in board["templating"]["list"]],
                         [("datasource", "datasource"), ("instance", "query"), ("queue", "query")])
        panels = board["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        self.assertEqual([panel["title"] for panel in panels if panel["type"] == "row"], ["Health", "Queues", "Server"])
        taken = set()
        for panel in panels:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertTrue(cells and not cells & taken and place["x"] + place["w"] <= 24, panel["title"])
            taken |= cells
            if panel["type"] != "row":
                self.assertIn(panel["type"], ("stat", "timeseries"))
                self.assertTrue(panel["description"] and panel["fieldConfig"]["defaults"]["unit"], panel["title"])
                self.assertEqual(len({target["refId"] for target in panel["targets"]}), len(panel["targets"]))
                for asked in (panel, *panel["targets"]):
                    self.assertEqual(asked["datasource"], {"type": "prometheus", "uid": "${datasource}"})
        self.assertGreater(len(expressions()), 30)


def expressions():
    """Those of the dashboard, with Grafana's variables replaced, by panel."""
    values = {"$instance": ".*", "$queue": ".*", "$__rate_interval": "1m"}
    found = []
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            expr = re.sub(r"\$\w+", lambda variable: values[variable[0]], target["expr"])
            found.append((panel["title"], expr))
    return found


class Client:
    """Calls of SQS over one connection."""

    def __init__(self, address, tls=False):
        host, port = address.rsplit(":", 1)
        context = ssl._create_unverified_context() if tls else None
        self.connection = (http.client.HTTPSConnection(host, int(port), timeout=20, context=context) if tls
                           else http.client.HTTPConnection(host, int(port), timeout=20))

    def call(self, action, **body):
        self.connection.request("POST", "/", json.dumps(body), {"Content-Type": "application/x-amz-json-1.0",
                                                               "X-Amz-Target": "AmazonSQS." + action})
        return json.loads(self.connection.getresponse().read() or "{}")

    def make(self, name, **attributes):
        return self.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]

    def send(self, url, count=1):
        for number in range(count):
            self.call("SendMessage", QueueUrl=url, MessageBody=str(number))

    def receive(self, url):
        return [message["ReceiptHandle"] for message in
                self.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])]

    def delete(self, url, handles):
        for handle in handles:
            self.call("DeleteMessage", QueueUrl=url, ReceiptHandle=handle)


class FullDisk(DevPawl):
    """A server whose directory is a small file system of its own, full of messages."""

    @staticmethod
    def possible():
        """Mounts need root, and direct writes to a tmpfs Linux 6.6."""
        script = "mount -t tmpfs tmpfs /mnt && dd if=/dev/zero of=/mnt/x bs=4096 count=1 oflag=direct"
        return subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, check=False).returncode == 0

    def __init__(self, place):
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={DISK_MIB}m tmpfs "$TMPDIR" && exec "$@"', "sh",
             PAWL, "serve", "--dev"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": place})
        self.ready = json.loads(self.process.stdout.readline())
        client = Client(self.ready["http"])
        url = client.make("full")
        sends = (client.call("SendMessage", QueueUrl=url, MessageBody="x" * (1 << 20)) for _ in range(DISK_MIB))
        assert any("RequestThrottled" in answer.get("__type", "") for answer in sends)
        client.connection.close()


class Prometheus:
    """The settings of the page, with other targets, one scrape and one evaluation a second, and no `for` beyond a second."""

    def __init__(self, place, targets):
        self.place = pathlib.Path(place)
        (config,) = (yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.S | re.M))
        rules = self.place / "rules.yml"
        text, waits = re.subn(r"^( +for:) \d+[smh]$", r"\1 1s", RULES.read_text(), flags=re.M)
        assert waits == sum("for" in rule for rule in ALERTS)
        rules.write_text(text)
        assert config["rule_files"] == ["/usr/share/pawl/prometheus/rules.yml"]
        (job,) = config["scrape_configs"]
        assert job["static_configs"] == [{"targets": ["127.0.0.1:9325"]}]
        job |= {"static_configs": [{"targets": targets}], "scrape_interval": "1s", "scrape_timeout": "1s"}
        (self.place / "prometheus.yml").write_text(json.dumps(
            config | {"rule_files": [str(rules)], "global": {"evaluation_interval": "1s"}}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % free.getsockname()[1]
        self.log = open(self.place / "prometheus.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "prometheus", f"--config.file={self.place}/prometheus.yml", f"--storage.tsdb.path={self.place}/data",
             f"--web.listen-address={self.address}"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        end = time.monotonic() + SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise AssertionError("prometheus does not start: " + (self.place / "prometheus.log").read_text()[-2000:])
            time.sleep(0.1)

    def answers(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5):
                return True
        return False

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()

    def get(self, path, **words):
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=20) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as refused:
            with refused:
                raise AssertionError(f"{words}: {refused.read().decode()}") from None

    def query(self, text):
        return self.get("query", query=text)["result"]

    def has_data(self, text):
        return any(row["value"][1] != "NaN" for row in self.query(text))

    def firing(self):
        return {alert["labels"]["alertname"] for alert in self.get("alerts")["alerts"] if alert["state"] == "firing"}


class Load(threading.Thread):
    """A small load on each server: sends, receives, deletes, and a request that fails."""

    def __init__(self, *clients):
        super().__init__(daemon=True)
        self.clients, self.over, self.failed = clients, threading.Event(), None

    def run(self):
        try:
            for client in self.clients:
                client.make("busy")
            while not self.over.wait(0.05):
                for client in self.clients:
                    client.send("busy", 2)
                    client.delete("busy", client.receive("busy"))
                    client.call("GetQueueUrl", QueueName="none")
        except Exception as error:  # the test reports it
            self.failed = error

    def stop(self):
        self.over.set()
        self.join(20)
        for client in self.clients:
            client.connection.close()


@unittest.skipUnless(INSTALLED, "prometheus and promtool are not installed")
class Monitoring(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="monitoring-test-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        certificate, key = (os.path.join(cls.place, name) for name in ("c.pem", "k.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", certificate, "-subj", "/CN=localhost", "-days", str(CERTIFICATE_DAYS)],
                       check=True, capture_output=True)
        os.chmod(key, 0o600)
        cls.plain, cls.gone = cls.serve(), cls.serve()
        cls.secret = cls.serve("--io", "threads", "--tls-cert", certificate, "--tls-key", key)
        cls.small = cls.serve("--metrics-queues", "50")
        servers = [cls.plain, cls.gone, cls.secret, cls.small]
        cls.full = FullDisk.possible()
        if cls.full:
            servers.append(FullDisk(cls.place))
            cls.addClassCleanup(servers[-1].__exit__, None, None, None)
        cls.prometheus = Prometheus(cls.place, [pawl.ready["admin"] for pawl in servers])
        cls.addClassCleanup(cls.prometheus.stop)
        cls.load = Load(Client(cls.plain.ready["http"]), Client(cls.secret.ready["http"], tls=True))
        cls.addClassCleanup(cls.load.stop)
        cls.load.start()

    @classmethod
    def serve(cls, *words):
        pawl = DevPawl(cls.place, *words).__enter__()
        cls.addClassCleanup(pawl.__exit__, None, None, None)
        return pawl

    def client(self, pawl):
        client = Client(pawl.ready["http"])
        self.addCleanup(client.connection.close)
        return client

    def eventually(self, true, text):
        end = time.monotonic() + SECONDS
        while not true():
            self.assertIsNone(self.load.failed)
            self.assertLess(time.monotonic(), end, text)
            time.sleep(0.2)

    def have_data(self, missing):
        end = time.monotonic() + DATA_SECONDS
        while (missing := [row for row in missing if not self.prometheus.has_data(row[1])]) and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(missing, [], "these return nothing")

    def test_1_real_servers_make_alerts_fire(self):
        client = self.client(self.plain)
        dead = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})
        client.make("dead")
        failing, late = client.make("failing", RedrivePolicy=dead), client.make("late", **{"x-lag-target": "1"})
        short, unread = client.make("short", VisibilityTimeout="1"), client.make("unread")
        mine = 'queue=~"failing|late|short|unread"'
        self.eventually(lambda: len(self.prometheus.query(f"pawl_messages_sent_total{{{mine}}}")) == 4, "the queues have no metrics")
        self.eventually(lambda: self.prometheus.query(f'up{{instance="{self.gone.ready["admin"]}"}} == 1'), "it is not up")
        self.assertEqual(self.prometheus.query(f"ALERTS{{{mine}}}"), [])
        self.assertEqual(self.gone.stop(), 0)
        for url in (failing, late, short, unread):
            client.send(url, 5)
        held = client.receive(short)
        for handle in client.receive(failing):
            client.call("ChangeMessageVisibility", QueueUrl=failing, ReceiptHandle=handle, VisibilityTimeout=0)
        self.assertEqual(client.receive(failing), [])
        time.sleep(1.3)
        self.assertEqual((len(client.receive(late)), len(held)), (5, 5))
        client.delete(short, held)
        client.send(unread, 5)
        missing = REAL | (OF_FULL_DISK if self.full else set())
        self.eventually(lambda: missing.difference_update(self.prometheus.firing()) or not missing, missing)

    def test_2_every_expression_of_a_rule_has_data(self):
        self.have_data([(rule["alert"], COMPARISON.sub("", rule["expr"])) for rule in ALERTS])

    def test_3_every_expression_of_the_dashboard_has_data(self):
        self.have_data(expressions())
        for variable in json.loads(DASHBOARD.read_text())["templating"]["list"][1:]:
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            self.assertTrue(self.prometheus.get(f"label/{label}/values", **{"match[]": series.replace("$instance", ".*")}))

    def test_4_queues_that_come_and_go_break_no_counter(self):
        instance = f'instance="{self.small.ready["admin"]}"'
        client, own = self.client(self.small), random.Random(4)
        self.eventually(lambda: self.prometheus.query(f"pawl_global_messages_sent_total{{{instance}}} == 0"), "no scrape")
        sent, made, live = 0, 0, {}  # when each queue was made
        begin = time.monotonic()
        while made < QUEUES and time.monotonic() < begin + 2 * SECONDS:
            now = time.monotonic()
            if now < begin + made * CHURN_SECONDS / QUEUES:
                time.sleep(0.005)
                continue
            live[client.make(f"q{made}")] = now
            made += 1
            young = [url for url in live if now - live[url] < 3]
            for url in own.sample(young, min(len(young), 3)):
                client.send(url)
                sent += 1
            # Two scrapes have seen the last send, so that nothing counted goes with the queue.
            for url in [url for url in live if now - live[url] > 6][:2]:
                client.delete(url, client.receive(url))
                client.call("DeleteQueue", QueueUrl=url)
                del live[url]
        self.assertEqual(made, QUEUES)
        total = f"pawl_global_messages_sent_total{{{instance}}}"
        self.eventually(lambda: self.prometheus.query(f"{total} == {sent}"), "the last send was not seen")
        names = [name for name in self.prometheus.get("label/__name__/values") if re.fullmatch("pawl_messages_.*_total", name)]
        self.assertGreater(len(names), 8)
        for name in names:
            (row,) = self.prometheus.query(f'resets({name}{{queue="__other__",{instance}}}[5m])')
            self.assertEqual(row["value"][1], "0", name)
        self.assertEqual(self.prometheus.query(f"min_over_time(rate(pawl_messages_sent_total{{{instance}}}[4s])[5m:1s]) < 0"), [])
        increases, labels = {}, set()
        for row in self.prometheus.query(f"pawl_messages_sent_total{{{instance}}}[5m]"):
            values = [float(value) for _, value in row["values"]]
            self.assertEqual(values, sorted(values), row["metric"])
            labels.add(row["metric"]["queue"])
            increases[row["metric"]["queue"]] = values[-1]  # each begins at 0
        self.assertEqual(sum(increases.values()), sent)
        self.assertGreater(increases["__other__"], 0)
        self.assertGreater(len(labels), 80, "labels were free again")
        most = self.prometheus.query(f"max_over_time(count(pawl_messages_sent_total{{{instance}}})[5m:1s])")
        self.assertEqual(most[0]["value"][1], "51")


@unittest.skipUnless(INSTALLED, "prometheus and promtool are not installed")
class Written(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="monitoring-test-"))
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def promtool(self, *words):
        return subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=60, check=False)

    def test_promtool_accepts_the_rules_of_the_page(self):
        commands = documented("MONITORING.md")
        self.assertIn("promtool check rules /usr/share/pawl/prometheus/rules.yml", commands)
        done = self.promtool("check", "rules", RULES)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("12 rules found", done.stdout)

    def test_written_series_make_each_alert_fire_and_others_do_not(self):
        tests = []
        for name, values in WRITTEN.items():
            for choice, wanted in ((1, True), (2, False)):
                alerts = 'count by (alertname) (ALERTS{alertstate="firing"})'
                tests.append({
                    "name": name, "interval": "1m",
                    "input_series": [{"series": row[0], "values": row[choice]} for row in written(values)],
                    "promql_expr_test": [{"expr": alerts, "eval_time": "90m", "exp_samples": (
                        [{"labels": f'{{alertname="{name}"}}', "value": 2 if name == "PawlSpaceNearlyFull" else 1}] if wanted else [])}]})
        file = self.place / "tests.yml"
        file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
        done = self.promtool("test", "rules", file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    if not INSTALLED:
        print("SKIPPED monitoring: prometheus and promtool are not installed; tools/deps check installs them")
    elif not FullDisk.possible():
        print(f"SKIPPED monitoring of a full disk: {' and '.join(sorted(OF_FULL_DISK))} fire for real with root and Linux 6.6 only")
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
