# SPDX-License-Identifier: Apache-2.0
"""boto3 behind the bridge of client.py, with whichever Python runs this."""

import base64
import concurrent.futures
import json
import os
import sys
import threading

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

sqs = boto3.client("sqs", endpoint_url=os.environ["PAWL_ENDPOINT"], region_name="us-east-1",
                   config=Config(retries={"max_attempts": 0}, max_pool_connections=8))
lock = threading.Lock()


def converted(value, binary):
    if isinstance(value, dict):
        return {k: binary(v) if k == "BinaryValue" else converted(v, binary) for k, v in value.items()}
    return [converted(v, binary) for v in value] if isinstance(value, list) else value


def answer(request):
    reply = {"id": request["id"]}
    try:
        members = converted(request["in"], base64.b64decode)
        out = getattr(sqs, xform_name(request["op"]))(**members)
        out.pop("ResponseMetadata")
        reply["out"] = converted(out, lambda data: base64.b64encode(data).decode())
    except ClientError as error:
        reply["error"] = {"code": error.response["Error"]["Code"], "message": error.response["Error"].get("Message")}
    except (BotoCoreError, AttributeError) as error:
        reply["error"] = {"code": type(error).__name__, "message": str(error)}
    with lock:
        print(json.dumps(reply), flush=True)


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for line in sys.stdin:
        pool.submit(answer, json.loads(line))
