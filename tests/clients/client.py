"""What every client of the matrix looks like to the scenarios: call an action with the model's member names.

The client itself runs unmodified, in its own language, behind a bridge: a process that reads one JSON
request per line on stdin and writes one JSON answer per line, in any order.

    {"id": 1, "op": "SendMessage", "in": {"QueueUrl": "http://...", "MessageBody": "a"}}
    {"id": 1, "out": {"MessageId": "...", "MD5OfMessageBody": "..."}}
    {"id": 2, "error": {"code": "AWS.SimpleQueueService.NonExistentQueue", "message": "..."}}

BinaryValue is base64 text in both directions. A bridge gets the endpoint and the keys in its environment,
answers several requests at a time and ends when stdin does.
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
    """The error as the SDK showed it to its program."""

    def __init__(self, code, message=""):
        super().__init__(f"{code}: {message}")
        self.code = code


class NotHere(Exception):
    """The client is not on this machine and could not be installed: its tests are skipped, aloud."""


class Client:
    shows_shapes = False      # errors by the shape's name and not by the Query protocol's code
    has_move_tasks = True     # its service model knows StartMessageMoveTask

    def __init__(self, pawl, **other):
        """`other` replaces variables of the environment: wrong keys."""
        self.environment = os.environ | pawl.environment() | {
            "AWS_PAGER": "", "AWS_MAX_ATTEMPTS": "1", "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"} | other
        self.pool = concurrent.futures.ThreadPoolExecutor(4)

    @classmethod
    def install(cls):
        """Makes the client ready to run, once per machine; NotHere when that is impossible."""

    def call(self, op, **members):
        """The answer's members, or Refused."""
        raise NotImplementedError

    def begin(self, op, **members):
        """The same at the same time as other calls: a future."""
        return self.pool.submit(self.call, op, **members)

    def code(self, shape):
        return shape if self.shows_shapes else QUERY_CODE.get(shape, shape)

    def close(self):
        self.pool.shutdown()


class Bridge(Client):
    """A client behind a process of its own; `command` says which."""

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
    """Bytes as base64, as JSON has none."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: encoded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [encoded(inner) for inner in value]
    return value


def decoded(value):
    """BinaryValue as bytes again; what is absent, however the language says so, is dropped."""
    if isinstance(value, dict):
        return {key: base64.b64decode(inner) if key == "BinaryValue" else decoded(inner)
                for key, inner in value.items() if inner is not None and (inner or key not in NEVER_SET)}
    if isinstance(value, list):
        return [decoded(inner) for inner in value]
    return value


def first_here(commands):
    """The first of the commands that ends well, or None."""
    for command in commands:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  timeout=CALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return command
    return None
