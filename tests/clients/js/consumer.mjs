// SPDX-License-Identifier: Apache-2.0
// sqs-producer sends, sqs-consumer receives and deletes. Prints one JSON object: what was seen.
//
// usage: node consumer.mjs QUEUE_URL COUNT
import { SQSClient } from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { Producer } from "sqs-producer";

const [queueUrl, countText] = process.argv.slice(2);
const count = Number(countText);
const sqs = new SQSClient({ endpoint: process.env.PAWL_ENDPOINT, maxAttempts: 1 });
const fifo = queueUrl.endsWith(".fifo");

const handled = [];
const errors = [];
let failures = 0;
const consumer = Consumer.create({
  queueUrl, sqs, batchSize: 10, waitTimeSeconds: 2, visibilityTimeout: 20, heartbeatInterval: 5,
  attributeNames: ["ApproximateReceiveCount"], messageAttributeNames: ["kind"],
  // Failing visibility at once: what fails the first time comes again, and quickly.
  terminateVisibilityTimeout: true, suppressFifoWarning: true,
  handleMessage: async (message) => {
    if (message.Body === "fails once" && message.Attributes.ApproximateReceiveCount === "1") {
      ++failures;
      throw new Error("as the test wants it");
    }
    handled.push({ body: message.Body, kind: message.MessageAttributes?.kind?.StringValue });
    return message;
  },
});
consumer.on("error", (error) => errors.push(`${error.name}: ${error.message}`));

const done = new Promise((resolve) => {
  consumer.on("message_processed", () => handled.length >= count && consumer.stop());
  consumer.on("stopped", resolve);
});
consumer.start();

const messages = [...Array(count).keys()].map((i) => ({
  id: "message-" + i,
  body: i === 3 ? "fails once" : "body " + i,
  messageAttributes: { kind: { DataType: "String", StringValue: "k" + i } },
  ...(fifo ? { groupId: "g" + (i % 3), deduplicationId: "d" + i } : {}),
}));
const sent = await Producer.create({ queueUrl, sqs }).send(messages);
await done;
const left = await Producer.create({ queueUrl, sqs }).queueSize();
sqs.destroy();
console.log(JSON.stringify({ sent: sent.length, handled, failures, errors, left }));
