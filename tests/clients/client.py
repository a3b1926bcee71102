# SPDX-License-Identifier: Apache-2.0
"""The interface between scenarios and clients: an action is called with the model's member names.

The client itself runs unmodified, in its own language, behind a bridge: a process that reads one
JSON request per line on stdin and writes one JSON response per line, in any order.

    {"id": 1, "op": "SendMessage", "in": {"QueueUrl": "http://...", "MessageBody": "a"}}
    {"id": 1, "out": {"MessageId": "...", "MD5OfMessageBody": "..."}}
    {"id": 2, "error": {"code": "AWS.SimpleQueueService.NonExistentQueue", "message": "..."}}

BinaryValue is base64 text in both directions. A bridge reads the endpoint and the keys from its
environment, serves several requests at a time and exits at the end of stdin.
"""

import base64
import concurrent.futures
import json
import os
import queue
import subprocess
import threading

CALL_SECONDS = 60
NEVER_SET = ("StringListValues", "BinaryListValues")  # reserved by SQS; some SDKs show them empty

# The two names of an error: the shape of the JSON protocol, and the code of the Query protocol
# where it differs. AWS sends both; the SDK decides which one a program sees.
PREFIXED = ("BatchEntryIdsNotDistinct", "BatchRequestTooLong", "EmptyBatchRequest", "InvalidBatchEntryId",
            "MessageNotInflight", "PurgeQueueInProgress", "QueueDeletedRecently", "TooManyEntriesInBatchRequest",
            "UnsupportedOperation")
QUERY_CODE = {name: "AWS.SimpleQueueService." + name for name in PREFIXED}
QUERY_CODE |= {"QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue", "QueueNameExists": "QueueAlreadyExists"}


class Refused(Exception):
    """The error that the SDK reported to its program."""

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}")
        self.code = code


class NotHere(Exception):
    """The client is missing and cannot be installed: its tests are skipped with the reason."""


class Client:
    shows_shapes = False      # names errors by shape, not by the Query protocol's code
    has_move_tasks = True     # its service model has StartMessageMoveTask

    def __init__(self, pawl, **other):
        """`other` replaces environment variables, for example with wrong keys."""
        self.environment = os.environ | pawl.environment() | {
            "AWS_PAGER": "", "AWS_MAX_ATTEMPTS": "1", "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"} | other
        self.pool = concurrent.futures.ThreadPoolExecutor(4)

    @classmethod
    def install(cls):
        """Installs the client, once per machine; raises NotHere if that is impossible."""

    def call(self, op, **members):
        """Calls an action; returns the members of the response or raises Refused."""
        raise NotImplementedError

    def begin(self, op, **members):
        """Calls an action concurrently with other calls; returns a future."""
        return self.pool.submit(self.call, op, **members)

    def code(self, shape):
        return shape if self.shows_shapes else QUERY_CODE.get(shape, shape)

    def close(self):
        self.pool.shutdown()


class Bridge(Client):
    """A client in a bridge process, which `command` starts."""

    command = ()

    def __init__(self, pawl, **other):
        super().__init__(pawl, **other)
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        self.waiting = {}
        self.last_id = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def call(self, op, **members):
        answer = queue.SimpleQueue()
        with self.lock:
            self.last_id += 1
            self.waiting[self.last_id] = answer
            self.process.stdin.write(json.dumps({"id": self.last_id, "op": op, "in": encoded(members)}) + "\n")
            self.process.stdin.flush()
        got = answer.get(timeout=CALL_SECONDS)
        if "error" in got:
            raise Refused(got["error"]["code"], got["error"].get("message", ""))
        return decoded(got["out"])

    def _read(self):
        for line in self.process.stdout:
            got = json.loads(line)
            with self.lock:
                self.waiting.pop(got["id"]).put(got)
        with self.lock:
            for answer in self.waiting.values():
                answer.put({"error": {"code": "BridgeEnded", "message": f"the bridge {self.command} has ended"}})

    def close(self):
        super().close()
        self.process.stdin.close()
        self.process.wait(CALL_SECONDS)
        self.reader.join()
        self.process.stdout.close()


def encoded(value):
    """Converts bytes to base64 text, because JSON has no bytes."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: encoded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [encoded(inner) for inner in value]
    return value


def decoded(value):
    """Converts BinaryValue to bytes; drops null members and empty NEVER_SET lists."""
    if isinstance(value, dict):
        return {key: base64.b64decode(inner) if key == "BinaryValue" else decoded(inner)
                for key, inner in value.items() if inner is not None and (inner or key not in NEVER_SET)}
    if isinstance(value, list):
        return [decoded(inner) for inner in value]
    return value


def first_here(commands):
    """The first command that succeeds, or None."""
    for command in commands:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  timeout=CALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return command
    return None
