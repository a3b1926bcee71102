/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends a message in C, receives it, prints it and deletes it.
 *
 *   hello QUEUE [PORT]
 */
#include <pawl/pawl.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what, int error) {
  char name[PAWL_ERROR_NAME_SIZE];
  fprintf(stderr, "hello: %s: %s\n", what, pawl_error_name(error, name, sizeof name));
  return 1;
}

static int exchange(pawl_client* client, const char* name) {
  pawl_queue queue;
  pawl_message message;
  size_t count = 0;
  int error = pawl_create_queue(client, name, &queue);
  if (error != 0) return fail("create queue", error);
  error = pawl_send(client, &queue, "hello", 5, NULL, NULL);
  if (error != 0) return fail("send", error);
  error = pawl_receive(client, &queue, 1000, &message, 1, &count);
  if (error != 0) return fail("receive", error);
  if (count == 0) return 0;
  printf("%.*s\n", (int)message.body_size, message.body);
  error = pawl_delete_message(client, &queue, &message);
  return error == 0 ? 0 : fail("delete", error);
}

int main(int argc, char** argv) {
  pawl_options options;
  pawl_client* client;
  if (argc < 2) return fprintf(stderr, "usage: hello QUEUE [PORT]\n"), 2;
  pawl_options_init(&options);
  options.name = "example hello";
  if (argc > 2) options.port = (uint16_t)atoi(argv[2]);
  const int error = pawl_connect(&options, &client);
  if (error != 0) return fail("connect", error);
  const int failed = exchange(client, argv[1]);
  pawl_close(client);
  return failed;
}
