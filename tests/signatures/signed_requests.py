#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes requests as botocore signs them, for pawl_signatures to verify.

    signed_requests.py FILE [COUNT]

The file begins with the access keys, a line each ("id secret account"), and an empty line. Then come the
requests: 4 bytes of length, 8 bytes with the time of signing in ms, and the bytes as they go over the
wire; numbers are little endian. What varies: key, region, method, path, query, headers, body, both
protocols, header and presigned form, with and without session token. Seeded, so that only times differ.
"""
import hashlib
import json
import random
import struct
import sys
import time
from urllib.parse import quote, urlencode, urlsplit

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

KEYS = [
    ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "123456789012"),
    ("test", "test", "000000000000"),
    ("x", "x", "000000000001"),
    ("ASIA_with-other.characters", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "000000000002"),
    ("long", "s" * 128, "000000000003"),
]
REGIONS = ["us-east-1", "eu-central-1", "elasticmq", "cn-north-1"]
HOSTS = ["127.0.0.1:9324", "localhost", "sqs.us-east-1.amazonaws.com", "[::1]:4566", "h:443", "broker.test:80"]
PATHS = ["/", "", "/000000000000/q", "/queue/q", "//000000000000//q", "/000000000000/q.fifo", "/q/", "/a/./q", "/a/../b/q",
         "/a%20b/q", "/%C3%A9/q%2Fr", "/~x_y-z.w/q", "/a:b@c/q", "/000000000000/q;v=1"]
TEXTS = ["", "a", "hello world", "a+b&c=d%20", "\u00e9\u00df", "\u65e5\u672c\u8a9e", "\U0001f980", "tab\tnew\nline\r\n",
         "~-_.!*'()", "/?#[]@:;,$", '"quoted" \\back', "%zz", " edge ", "=", "&&", "\u0000"]
ACTIONS = ["SendMessage", "ReceiveMessage", "GetQueueAttributes", "DeleteMessage", "ListQueues"]


def text(rng):
    if rng.random() < 0.02:
        return rng.choice(TEXTS) * rng.randrange(1, 4000)
    return "".join(rng.choice(TEXTS) for _ in range(rng.randrange(1, 6)))


def params(rng):
    some = {"Action": rng.choice(ACTIONS), "Version": "2012-11-05", "MessageBody": text(rng)[:500]}
    for i in range(rng.randrange(0, 8)):
        some[rng.choice(["Attribute.%d.Name", "k~%d", "K%d", "a b%d", "\u00e9%d", "-%d", "x/%d", "0.%d"]) % i] = rng.choice(TEXTS)
    return dict(rng.sample(sorted(some.items()), len(some)))


def odd_query(rng):
    """A query as somebody types it: out of order, keys without a value, escapes that are needed."""
    pieces = [quote(k, safe="-_.~") + (rng.choice(["=", "=" + quote(rng.choice(TEXTS), safe="-_.~")])) for k in params(rng)]
    return "&".join(pieces + rng.choice([[], ["flag"], ["zz=", "flag"]]))


def headers(rng):
    some = {}
    if rng.random() < 0.5:
        some["User-Agent"] = "Boto3/1.43 md/Botocore  ua/2.1"
    if rng.random() < 0.3:
        some["X-Amzn-Trace-Id"] = "Root=1-5759e988-bd862e3fe1be46a994272793"
    if rng.random() < 0.3:
        some["amz-sdk-invocation-id"] = "%032x" % rng.getrandbits(128)
        some["amz-sdk-request"] = "attempt=1"
    if rng.random() < 0.2:
        some["X-Amz-Meta"] = rng.choice(["a  b", "a \t b   c", "x", '"q  q"', "v;w=1, u"])
    if rng.random() < 0.1:
        some["accept"] = "*/*"
    return some


def json_call(rng, url):
    body = json.dumps({"QueueUrl": url, "MessageBody": text(rng)}, ensure_ascii=rng.random() < 0.5).encode()
    more = {"X-Amz-Target": "AmazonSQS." + rng.choice(ACTIONS), "Content-Type": "application/x-amz-json-1.0"}
    if rng.random() < 0.7:
        more["x-amzn-query-mode"] = "true"
    return AWSRequest("POST", url, {**headers(rng), **more}, body)


def query_call(rng, url):
    more = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    body = urlencode(params(rng)) if rng.random() < 0.5 else urlencode(params(rng), quote_via=quote)
    return AWSRequest("POST", url, {**headers(rng), **more}, body.encode())


def get_call(rng, url):
    return AWSRequest("GET", url, headers(rng), params=params(rng))


def odd_call(rng, url):
    return AWSRequest(rng.choice(["GET", "POST"]), url + "?" + odd_query(rng), headers(rng), b"")


def signed(rng):
    key, secret, _ = rng.choice(KEYS)
    token = rng.choice([None, None, "FwoGZXIvYXdzE+/=="])
    credentials = Credentials(key, secret, token)
    url = rng.choice(["http", "https"]) + "://" + rng.choice(HOSTS) + rng.choice(PATHS)
    # A default port is not in the Host header.
    if url.startswith("https") != url.split("/")[2].endswith(":443"):
        url = "http" + url[url.index(":"):]
    make = rng.choice([json_call, json_call, query_call, query_call, get_call, odd_call])
    request = make(rng, url)
    region, service = rng.choice(REGIONS), rng.choice(["sqs", "sqs", "sqs", "sns"])
    if make in (get_call, odd_call) and rng.random() < 0.6:
        request.data = ""
        SigV4QueryAuth(credentials, service, region, expires=rng.choice([1, 300, 604800])).add_auth(request)
    elif make is query_call and rng.random() < 0.1:  # its parameters go into the query
        request.data = params(rng)
        SigV4QueryAuth(credentials, service, region, expires=60).add_auth(request)
    else:
        if rng.random() < 0.2:
            request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(request.data or b"").hexdigest()
        SigV4Auth(credentials, service, region).add_auth(request)
    return request.prepare()


def host_of(url):
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}[parts.scheme]
    return parts.netloc.rsplit(":", 1)[0] if parts.port == default else parts.netloc


def on_the_wire(rng, request):
    parts = urlsplit(request.url)
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    body = request.body or b""
    body = body.encode() if isinstance(body, str) else body
    lines = [("Host", host_of(request.url))]
    for name, value in request.headers.items():
        if name.lower() not in ("host", "content-length"):
            lines.append((name, value.decode() if isinstance(value, bytes) else value))
    rng.shuffle(lines)
    lines = [(rng.choice([str, str.lower, str.upper])(name), value) for name, value in lines]
    if body:
        lines.append(("Content-Length", str(len(body))))
    head = "%s %s HTTP/1.1\r\n" % (request.method, target)
    return (head + "".join("%s: %s\r\n" % line for line in lines) + "\r\n").encode() + body


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    rng = random.Random(1)
    with open(sys.argv[1], "wb") as out:
        out.write("".join("%s %s %s\n" % key for key in KEYS).encode() + b"\n")
        for _ in range(count):
            at = int(time.time() * 1000)
            data = on_the_wire(rng, signed(rng))
            out.write(struct.pack("<Iq", len(data), at) + data)


if __name__ == "__main__":
    main()
