/* SPDX-License-Identifier: Apache-2.0
 *
 * pawl's client in C: a connection to a pawl server, over pawl::Client (pawl/client.h).
 *
 * Each call is one request and waits for its response. Functions return 0, or the number of an
 * error: a status of the protocol, or from 9000 on one of pawl::Client::Code. pawl_error_name()
 * names it. No function prints, aborts or starts a thread.
 *
 * Units:  milliseconds, in points of time since 1970; sizes are bytes.
 * Limits: a message is 1 MiB with its attributes; a receive asks for at most 1024 messages.
 * Errors: a connection that fails once (9002 to 9005) stays broken: close it and make a new one.
 * Owner:  a pawl_client belongs to one thread at a time, and the caller closes it. Received messages
 *         point into the client's memory, until its next pawl_receive or pawl_close. All other
 *         memory is the caller's.
 */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* NOLINTBEGIN(modernize-use-using): C has no other aliases */

typedef struct pawl_client pawl_client;

/* Fill it with pawl_options_init(), then change what differs. A null text is the default. */
typedef struct pawl_options {
  const char* host;   /* a name, an address or a Unix socket's path; "127.0.0.1" */
  const char* name;   /* shown by the server; at most 64 bytes are kept */
  const char* key_id; /* the access key, for servers that require one */
  const char* secret;
  const char* ca_file; /* trusted CAs, PEM; null: the system's */
  uint32_t connect_timeout_ms;
  uint32_t request_timeout_ms; /* in addition to a receive's wait */
  uint16_t port;
  uint8_t tls;        /* 0 or 1 */
  uint8_t tls_verify; /* 0 or 1; 1: the certificate must be for `host` and signed by a trusted CA */
} pawl_options;

/* A queue opened by one connection; a copy is valid, another connection refuses it. */
typedef struct pawl_queue {
  uint64_t client;
  uint32_t handle;
  uint32_t maximum_message_size;
} pawl_queue;

typedef struct pawl_sent {
  uint64_t sequence;
  uint8_t id[16];
} pawl_sent;

/* Texts have a size and no terminating zero. */
typedef struct pawl_message {
  const char* body;
  size_t body_size;
  const char* group; /* MessageGroupId; size 0: none */
  size_t group_size;
  uint64_t sequence;
  int64_t sent;
  uint32_t receive_count;
  uint8_t id[16];
  uint8_t receipt[24]; /* identifies this delivery, to delete it */
} pawl_message;

void pawl_options_init(pawl_options* options);

/* On an error `*client` is null. */
int pawl_connect(const pawl_options* options, pawl_client** client);
void pawl_close(pawl_client* client); /* null is allowed */

/* Creates the queue if it does not exist. */
int pawl_create_queue(pawl_client* client, const char* name, pawl_queue* queue);
int pawl_open_queue(pawl_client* client, const char* name, pawl_queue* queue);

/* Returns when the message is durable, or sooner if the queue's x-durability is async or memory:
 * see client.h. `group` is for FIFO queues, and null otherwise; `sent` may be null. */
int pawl_send(pawl_client* client, const pawl_queue* queue, const void* body, size_t body_size,
              const char* group, pawl_sent* sent);
/* Fills up to `max` of `messages` and sets `*count`; waits up to `wait_ms`, at most 20000, for the
 * first. No message is no error. */
int pawl_receive(pawl_client* client, const pawl_queue* queue, uint32_t wait_ms,
                 pawl_message* messages, size_t max, size_t* count);
int pawl_delete_message(pawl_client* client, const pawl_queue* queue, const pawl_message* message);

#define PAWL_ERROR_NAME_SIZE 32
/* Writes the name of an error, "no_such_queue" and the like, cut to `size` with its terminating
 * zero. Returns `name`. */
const char* pawl_error_name(int error, char* name, size_t size);

/* NOLINTEND(modernize-use-using) */

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
