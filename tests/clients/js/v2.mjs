// SPDX-License-Identifier: Apache-2.0
import AWS from "aws-sdk";
import { serve } from "./bridge.mjs";

const sqs = new AWS.SQS({ endpoint: process.env.PAWL_ENDPOINT, maxRetries: 0 });
const method = (op) => op[0].toLowerCase() + op.slice(1);
await serve((op, members) => sqs[method(op)](members).promise(), (error) => error.code);
