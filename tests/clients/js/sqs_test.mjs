// AWS's SDK for JavaScript v3, unmodified, against pawl: the JSON protocol. It verifies the MD5 of every
// body it receives by itself.
//
// usage: node sqs_test.mjs http://127.0.0.1:PORT
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import * as sdk from "@aws-sdk/client-sqs";

const endpoint = process.argv[2];
const sqs = new sdk.SQSClient({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "x", secretAccessKey: "x" },
  maxAttempts: 1,
});
const md5 = (text) => createHash("md5").update(text).digest("hex");
const call = (name, input) => sqs.send(new sdk[name + "Command"](input));
const fresh = async (Attributes) =>
  (await call("CreateQueue", { QueueName: "js-" + randomUUID(), Attributes })).QueueUrl;
const names = (promise) => promise.then(() => "no error", (error) => error.name);

const tests = {
  async "a queue is created, listed, found and deleted"() {
    const QueueName = "js-" + randomUUID();
    const { QueueUrl } = await call("CreateQueue", { QueueName });
    assert.equal(QueueUrl, `${endpoint}/000000000000/${QueueName}`);
    assert.deepEqual((await call("ListQueues", { QueueNamePrefix: QueueName })).QueueUrls, [QueueUrl]);
    assert.equal((await call("GetQueueUrl", { QueueName })).QueueUrl, QueueUrl);
    await call("DeleteQueue", { QueueUrl });
    assert.equal(await names(call("GetQueueUrl", { QueueName })), "QueueDoesNotExist");
  },

  async "attributes of a queue are set and read"() {
    const QueueUrl = await fresh({ VisibilityTimeout: "7" });
    await call("SetQueueAttributes", { QueueUrl, Attributes: { DelaySeconds: "1" } });
    const { Attributes } = await call("GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
    assert.equal(Attributes.VisibilityTimeout, "7");
    assert.equal(Attributes.DelaySeconds, "1");
    assert.equal(Attributes.QueueArn, "arn:aws:sqs:us-east-1:000000000000:" + QueueUrl.split("/").pop());
  },

  async "a message comes back as it was sent"() {
    const QueueUrl = await fresh();
    const MessageBody = 'quote " backslash \\ <&> ünïcode 🦀\r\n';
    const MessageAttributes = {
      text: { DataType: "String", StringValue: "a b" },
      raw: { DataType: "Binary", BinaryValue: new Uint8Array([0, 1, 255]) },
    };
    const sent = await call("SendMessage", { QueueUrl, MessageBody, MessageAttributes });
    assert.equal(sent.MD5OfMessageBody, md5(MessageBody));
    const { Messages } = await call("ReceiveMessage", {
      QueueUrl, MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"], WaitTimeSeconds: 2,
    });
    assert.equal(Messages.length, 1);
    assert.equal(Messages[0].Body, MessageBody);
    assert.equal(Messages[0].MessageId, sent.MessageId);
    assert.equal(Messages[0].MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
    assert.deepEqual([...Messages[0].MessageAttributes.raw.BinaryValue], [0, 1, 255]);
    assert.equal(Messages[0].Attributes.ApproximateReceiveCount, "1");
  },

  async "a batch is sent, received and deleted entry by entry"() {
    const QueueUrl = await fresh();
    const Entries = [...Array(10).keys()].map((i) => ({ Id: "e" + i, MessageBody: "body " + i }));
    assert.equal((await call("SendMessageBatch", { QueueUrl, Entries })).Successful.length, 10);
    const { Messages } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 2 });
    assert.equal(Messages.length, 10);
    const handles = Messages.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle }));
    handles[3].ReceiptHandle = "not a handle";
    const deleted = await call("DeleteMessageBatch", { QueueUrl, Entries: handles });
    assert.equal(deleted.Successful.length, 9);
    assert.deepEqual(deleted.Failed.map((f) => [f.Id, f.Code]), [["3", "ReceiptHandleIsInvalid"]]);
  },

  async "empty lists of attribute names ask for none"() {
    const QueueUrl = await fresh();
    await call("SendMessage", { QueueUrl, MessageBody: "x", MessageAttributes: { a: { DataType: "String", StringValue: "b" } } });
    const { Messages } = await call("ReceiveMessage", {
      QueueUrl, AttributeNames: [], MessageSystemAttributeNames: [], MessageAttributeNames: [], WaitTimeSeconds: 2,
    });
    assert.equal(Messages[0].MessageAttributes, undefined);
    assert.equal(Messages[0].Attributes, undefined);
  },

  async "visibility is changed and the receive counted"() {
    const QueueUrl = await fresh();
    await call("SendMessage", { QueueUrl, MessageBody: "x" });
    const first = (await call("ReceiveMessage", { QueueUrl })).Messages[0];
    assert.equal((await call("ReceiveMessage", { QueueUrl })).Messages, undefined);
    await call("ChangeMessageVisibility", { QueueUrl, ReceiptHandle: first.ReceiptHandle, VisibilityTimeout: 0 });
    const again = (await call("ReceiveMessage", { QueueUrl, MessageSystemAttributeNames: ["All"] })).Messages[0];
    assert.equal(again.Attributes.ApproximateReceiveCount, "2");
    await call("DeleteMessage", { QueueUrl, ReceiptHandle: again.ReceiptHandle });
    assert.equal((await call("ReceiveMessage", { QueueUrl })).Messages, undefined);
  },

  async "a long poll wakes when a message is sent"() {
    const QueueUrl = await fresh();
    const began = Date.now();
    const poll = call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
    setTimeout(() => call("SendMessage", { QueueUrl, MessageBody: "now" }), 300);
    assert.equal((await poll).Messages[0].Body, "now");
    assert.ok(Date.now() - began < 5000);
  },

  async "purge empties a queue"() {
    const QueueUrl = await fresh();
    await call("SendMessage", { QueueUrl, MessageBody: "x" });
    await call("PurgeQueue", { QueueUrl });
    assert.equal((await call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 1 })).Messages, undefined);
    assert.equal(await names(call("PurgeQueue", { QueueUrl })), "PurgeQueueInProgress");
  },

  async "errors have the names that programs look for"() {
    const QueueUrl = await fresh();
    const missing = endpoint + "/000000000000/missing";
    assert.equal(await names(call("SendMessage", { QueueUrl: missing, MessageBody: "x" })), "QueueDoesNotExist");
    assert.equal(await names(call("DeleteMessage", { QueueUrl, ReceiptHandle: "nonsense" })), "ReceiptHandleIsInvalid");
    const entry = { Id: "a", MessageBody: "x" };
    assert.equal(await names(call("SendMessageBatch", { QueueUrl, Entries: [entry, entry] })), "BatchEntryIdsNotDistinct");
    assert.equal(await names(call("SendMessageBatch", { QueueUrl, Entries: [] })), "EmptyBatchRequest");
  },
};

let passed = 0;
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    ++passed;
    console.log("ok     ", name);
  } catch (error) {
    ++failed;
    console.log("FAILED ", name, "\n", error);
  }
}
sqs.destroy();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
