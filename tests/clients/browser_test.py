#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Without keys, a web page in a real browser cannot change anything, and curl, awscli's presigned URLs and the address bar can."""

import http.server
import os
import shutil
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from pawl_server import ServedTest, main, scratch

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 120
# Each way has a queue name of its own.
WAYS = ("image", "style", "script", "fetch", "beacon", "getform", "postform", "redirect", "frame")
PAGE = """<!doctype html><body>
<img src="{url}image"><link rel="stylesheet" href="{url}style"><script src="{url}script"></script>
<iframe name="a"></iframe><iframe name="b"></iframe><iframe src="/redirect?{url}redirect"></iframe><iframe src="{url}frame"></iframe>
<form id="get" target="a" method="get" action="{target}"><input name="Action" value="CreateQueue"><input name="QueueName" value="getform"></form>
<form id="post" target="b" method="post" action="{target}"><input name="Action" value="CreateQueue"><input name="QueueName" value="postform"></form>
<script>
document.getElementById("get").submit();
document.getElementById("post").submit();
navigator.sendBeacon("{target}", new URLSearchParams({{Action: "CreateQueue", QueueName: "beacon"}}));
fetch("{url}fetch", {{mode: "no-cors"}}).catch(() => 0);
</script>"""


class Recorder(http.server.BaseHTTPRequestHandler):
    """A page's server, and a server that notes what it is asked."""

    def answer(self, body=b""):
        self.server.seen.append(self.path + "&" + self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        if self.path.startswith("/redirect?"):
            self.send_response(302)
            self.send_header("Location", self.path.partition("?")[2])
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
        page = self.server.page.encode() if self.path == "/page" else body
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def recorder(test):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.seen, server.page = [], ""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return server


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=SECONDS) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


class Browser(ServedTest):
    def queues(self):
        with urllib.request.urlopen(f"{self.pawl.url}/?Action=ListQueues", timeout=SECONDS) as answer:
            text = answer.read().decode()
        return {part.partition("</QueueUrl>")[0].rpartition("/")[2] for part in text.split("<QueueUrl>")[1:]}

    def browse(self, url):
        profile = os.path.join(scratch() or "/tmp", f"pawl-browser-{os.getpid()}")
        self.addCleanup(shutil.rmtree, profile, ignore_errors=True)
        subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom",
                        "--host-resolver-rules=MAP evil.example 127.0.0.1", "--virtual-time-budget=4000", url],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)

    def show(self, host, target):
        """Shows the page of a host, whose every part asks `target` to create a queue."""
        pages = recorder(self)
        pages.page = PAGE.format(target=target + "/", url=f"{target}/?Action=CreateQueue&QueueName=")
        self.browse(f"http://{host}:{pages.server_port}/page")
        self.assertIn("/page&", pages.seen)

    @unittest.skipUnless(BROWSER, "chromium is not installed")
    def test_no_part_of_a_page_changes_anything(self):
        control = recorder(self)
        self.show("evil.example", f"http://127.0.0.1:{control.server_port}")
        asked = {way for way in WAYS if any(f"QueueName={way}" in line for line in control.seen)}
        self.assertEqual(asked, set(WAYS), "the page asks in every way")
        for host in ("evil.example", "127.0.0.1"):  # another site; another port of this machine
            with self.subTest(host):
                self.show(host, self.pawl.url)
                self.assertEqual(self.queues() & set(WAYS), set())

    @unittest.skipUnless(BROWSER, "chromium is not installed")
    def test_a_name_that_resolves_to_this_machine_is_refused(self):
        port = self.pawl.ready["http"].rpartition(":")[2]
        self.browse(f"http://evil.example:{port}/?Action=CreateQueue&QueueName=rebound")
        self.assertNotIn("rebound", self.queues())

    @unittest.skipUnless(BROWSER, "chromium is not installed")
    def test_the_address_bar_acts(self):
        self.browse(f"{self.pawl.url}/?Action=CreateQueue&QueueName=typed")
        self.assertIn("typed", self.queues())

    def test_curl_acts(self):
        command = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}"] if shutil.which("curl") else None
        if command is None:
            self.skipTest("curl is not installed")
        done = subprocess.run(command + [f"{self.pawl.url}/?Action=CreateQueue&QueueName=curled"], capture_output=True, text=True,
                              timeout=SECONDS, check=True)
        self.assertEqual(done.stdout, "200")
        self.assertIn("curled", self.queues())

    def test_a_presigned_url_acts(self):
        try:
            from botocore import auth, awsrequest, credentials
        except ImportError:
            self.skipTest("botocore is not installed")
        self.assertEqual(get(f"{self.pawl.url}/?Action=CreateQueue&QueueName=presigned"), 200)
        request = awsrequest.AWSRequest("GET", f"{self.pawl.url}/000000000000/presigned?Action=SendMessage&MessageBody=m")
        auth.SigV4QueryAuth(credentials.Credentials("x", "x"), "sqs", "us-east-1", expires=60).add_auth(request)
        self.assertIn("X-Amz-Signature=", request.url)
        self.assertEqual(get(request.url), 200)

    def test_the_same_url_in_a_page_is_refused_with_the_header_that_shows_it(self):
        url = f"{self.pawl.url}/?Action=CreateQueue&QueueName=marked"
        for headers in ({"Referer": "https://evil.example/"}, {"User-Agent": "Mozilla/5.0"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Origin": "null"}):
            with self.subTest(str(headers)):
                self.assertEqual(get(url, **headers), 403)
        self.assertNotIn("marked", self.queues())


if __name__ == "__main__":
    main()
