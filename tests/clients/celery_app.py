# SPDX-License-Identifier: Apache-2.0
"""The Celery application of celery_test.py: its worker and its callers both load this."""

import os
import urllib.parse

from celery import Celery

address = urllib.parse.urlsplit(os.environ["PAWL_ENDPOINT"]).netloc
keys = ":".join(urllib.parse.quote(os.environ[name], safe="") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
results = os.environ["PAWL_CELERY_RESULTS"]

app = Celery("celery_app", broker=f"sqs://{keys}@{address}", backend="file://" + results)
app.conf.update(
    broker_transport_options={"region": "us-east-1", "is_secure": False, "wait_time_seconds": 5, "polling_interval": 0.1,
                              "visibility_timeout": 60},
    task_default_queue="celery", task_acks_late=True, worker_hijack_root_logger=False, broker_connection_retry=False)


@app.task
def add(a, b):
    return a + b


@app.task(bind=True, max_retries=3)
def third_time_lucky(self):
    if self.request.retries < 2:
        raise self.retry(countdown=1)
    return self.request.retries


@app.task(bind=True, throws=(ValueError,))
def fails(self):
    raise ValueError("as the test wants it")
