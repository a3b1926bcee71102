# SPDX-License-Identifier: Apache-2.0
"""Clients of SQS's two HTTP protocols. They show data that SDKs hide: status, headers, types, and
members outside the model.

A Voice is one client: call(op, **members with the model's names) returns the response's members, or
raises Refused with the Query protocol's code, which both protocols carry. BinaryValue is bytes. A
voice belongs to one thread.
"""

import base64
import datetime
import hashlib
import hmac
import http.client
import json
import urllib.parse
import xml.etree.ElementTree as ElementTree

import client

CALL_SECONDS = 60
XMLNS = "http://queue.amazonaws.com/doc/2012-11-05/"


class Refused(client.Refused):
    def __init__(self, code, message, status, answer):
        super().__init__(code, message)
        self.message = message
        self.status = status
        self.answer = answer  # an Answer from Connection.ask


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


class Connection:
    """One keep-alive HTTP connection; signs requests if the server checks signatures."""

    def __init__(self, pawl):
        self.pawl = pawl
        self.host = pawl.ready["http"]
        self.connection = http.client.HTTPConnection(self.host, timeout=CALL_SECONDS)

    def ask(self, method="POST", path="/", headers=None, body=b""):
        headers = dict(headers or {})
        if self.pawl.key != "x":
            sign(self.pawl, method, path, {"host": self.host} | headers, body, headers)
        self.connection.request(method, path, body, headers)
        return Answer(self.connection.getresponse())

    def close(self):
        self.connection.close()


def sign(pawl, method, path, headers, body, into):
    """Signs all headers by AWS Signature Version 4; adds x-amz-date and authorization to `into`."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    signed = {name.lower(): value.strip() for name, value in headers.items()} | {"x-amz-date": now}
    names = ";".join(sorted(signed))
    scope = f"{now[:8]}/us-east-1/sqs/aws4_request"
    canonical = "\n".join([method, path, "", *(f"{n}:{signed[n]}" for n in sorted(signed)), "", names,
                           hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + pawl.secret).encode()
    for part in (*scope.split("/"), text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    into["x-amz-date"] = now
    into["authorization"] = f"AWS4-HMAC-SHA256 Credential={pawl.key}/{scope}, SignedHeaders={names}, Signature={key.hex()}"


class Voice:
    name = None

    def __init__(self, pawl, path="/"):
        self.connection = Connection(pawl)
        self.path = path

    def call(self, op, **members):
        raise NotImplementedError

    def close(self):
        self.connection.close()


class Json(Voice):
    name = "json"
    query_mode = True

    def headers(self, op):
        mode = {"x-amzn-query-mode": "true"} if self.query_mode else {}
        return {"content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS." + op} | mode

    def call(self, op, **members):
        answer = self.connection.ask("POST", self.path, self.headers(op), json.dumps(client.encoded(members)).encode())
        if answer.status != 200:
            code = answer.headers.get("x-amzn-query-error", "").partition(";")[0]
            got = json.loads(answer.body)
            raise Refused(code or got["__type"].rpartition("#")[2], got.get("message"), answer.status, answer)
        return client.decoded(json.loads(answer.body)) if answer.body else {}


# Names of list items, and of the keys and values of map entries, in the Query protocol.
ITEMS = {"AttributeNames": "AttributeName", "MessageSystemAttributeNames": "AttributeName", "TagKeys": "TagKey",
         "MessageAttributeNames": "MessageAttributeName", "AWSAccountIds": "AWSAccountId", "Actions": "ActionName"}
MAPS = {"Attributes": ("Attribute", "Name", "Value"), "Tags": ("Tag", "Key", "Value"), "tags": ("Tag", "Key", "Value"),
        "MessageAttributes": ("MessageAttribute", "Name", "Value"),
        "MessageSystemAttributes": ("MessageSystemAttribute", "Name", "Value")}
# Lists in Query responses; the entries of other actions are named after the action.
ANSWERED = {"ListQueues": {"QueueUrl": "QueueUrls"}, "ListDeadLetterSourceQueues": {"QueueUrl": "queueUrls"},
            "ReceiveMessage": {"Message": "Messages"}, "ListMessageMoveTasks": {"ListMessageMoveTasksResultEntry": "Results"}}
INTEGERS = ("MaxNumberOfMessagesPerSecond", "ApproximateNumberOfMessagesMoved", "ApproximateNumberOfMessagesToMove",
            "StartedTimestamp")


class Query(Voice):
    name = "query"

    def call(self, op, **members):
        form = {"Action": op, "Version": "2012-11-05"} | flattened(op, members)
        answer = self.connection.ask("POST", self.path, {"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
                                     urllib.parse.urlencode(form).encode())
        root = ElementTree.fromstring(answer.body)
        if answer.status != 200:
            error = root.find(f"{{{XMLNS}}}Error")
            raise Refused(error.findtext(f"{{{XMLNS}}}Code"), error.findtext(f"{{{XMLNS}}}Message"), answer.status, answer)
        if root.tag != f"{{{XMLNS}}}{op}Response":
            raise ValueError(f"{op} is answered by {root.tag}")
        result = root.find(f"{{{XMLNS}}}{op}Result")
        lists = ANSWERED.get(op, {f"{op}ResultEntry": "Successful", "BatchResultErrorEntry": "Failed"})
        got = {} if result is None else gathered(result, lists)
        # The model requires this list: JSON sends it empty, and XML cannot express an empty list.
        return {"queueUrls": []} | got if op == "ListDeadLetterSourceQueues" else got


def flattened(op, members, prefix=""):
    form = {}
    for name, value in members.items():
        if name in MAPS and isinstance(value, dict):
            item, key, inner = MAPS[name]
            for i, (k, v) in enumerate(value.items(), 1):
                form |= {f"{prefix}{item}.{i}.{key}": k} | (flattened(op, v, f"{prefix}{item}.{i}.{inner}.")
                                                             if isinstance(v, dict) else {f"{prefix}{item}.{i}.{inner}": v})
        elif name == "Entries":
            for i, entry in enumerate(value, 1):
                form |= flattened(op, entry, f"{op}RequestEntry.{i}.")
        elif isinstance(value, list):
            form |= {f"{prefix}{ITEMS[name]}.{i}": v for i, v in enumerate(value, 1)}
        else:
            form[prefix + name] = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    return form


def gathered(element, lists):
    """The members of an XML element: repeated children become lists, Attribute and Tag maps."""
    got = {}
    for child in element:
        name = child.tag.removeprefix(f"{{{XMLNS}}}")
        entry = next((m for m in MAPS if MAPS[m][0] == name), None)
        if name in lists:
            got.setdefault(lists[name], []).append(gathered(child, {}) if len(child) else child.text or "")
        elif entry:
            key, value = (child.find(f"{{{XMLNS}}}{part}") for part in MAPS[entry][1:])
            got.setdefault(entry, {})[key.text or ""] = gathered(value, {}) if len(value) else value.text or ""
        else:
            got[name] = typed(name, child.text or "")
    return got


def typed(name, text):
    if name in INTEGERS:
        return int(text)
    if name == "SenderFault":
        return {"true": True, "false": False}[text]
    return base64.b64decode(text, validate=True) if name == "BinaryValue" else text
