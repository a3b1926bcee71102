// SPDX-License-Identifier: Apache-2.0
// pawl::Client: a connection to a pawl server over the binary protocol.
//
//   connect --> ready --submit_*--> in flight --poll--> completed
//                 |  \--blocking call: submits, waits, returns
//                 \--the server goes away--> broken (for good: make a new Client)
//
// There are two ways to use it. Each blocking call is one request. For throughput, submit_* sends
// requests without waiting and poll() returns responses in the order of arrival. Requests up to the
// server's credit may be in flight; beyond it submit_* returns would_block. The two do not mix: a
// blocking call while tickets are outstanding is refused with `busy`.
//
// No function throws, prints, aborts or starts a thread. After the first few requests submit_* and
// poll() do not allocate.
//
// A send or a delete is answered when it is durable, unless the queue's attribute x-durability says
// otherwise. `async`: it is answered at once while the server's log is less than 100 ms behind the
// disk; a crash may lose what was answered in these 100 ms and during one flush more. `memory`: it
// is answered at once, and a crash may lose all that the disk does not have yet.
//
// Units:  milliseconds since 1970 for points in time; durations have their unit in the type or
//         name.
// Limits: 1024 messages a batch; a message is 1 MiB with its attributes, or the queue's own
//         maximum.
// Errors: Result<T> is std::expected<T, Client::Error>; Code has the numbers of the protocol.
// Owner:  one thread at a time. Views in completions are valid until the next call on the Client.
//         A child of fork() must not touch the Client of its parent.
// Source: proto/PROTOCOL.md
#pragma once

#if __cplusplus < 202302L && !(defined(__GNUC__) && __cplusplus > 202002L)
#error "pawl needs C++23, for std::expected: compile with -std=c++23"
#endif

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

class [[gnu::visibility("default")]] Client {
 public:
  struct Options {
    // A name is resolved without a limit of time; a numeric address needs no name server.
    // A name, a numeric address, or the path of the server's Unix socket, which begins with '/'.
    // With a path the port is ignored, and there is no TLS.
    std::string host = "127.0.0.1";
    std::uint16_t port = 9326;
    std::string name{};  // shown by the server; at most 64 bytes are kept
    // The queue that is used most: the server then serves the connection on its shard. With an
    // access key the account is needed, too.
    std::string queue{}, queue_account{};
    std::chrono::milliseconds connect_timeout{5'000};
    std::chrono::milliseconds request_timeout{
        30'000};                        // of blocking calls, in addition to a receive's wait
    std::chrono::microseconds spin{0};  // time to spin for a response before sleeping; uses a core
    bool checksum = false;              // XXH3-64 on every frame, both ways
    // The access key, for servers that require one. The secret is not sent.
    std::string key_id{};
    std::string secret{};
    bool tls = false;
    bool tls_verify = true;  // check that the certificate is for `host` and signed by a trusted CA
    std::string ca_file{};   // trusted CAs, PEM; empty: the system's
  };

  // The status numbers of the protocol; numbers from 9000 on are the client's own.
  enum class Code : std::uint16_t {
    ok = 0,
    bad_frame = 1000,
    unknown_op = 1001,
    bad_handle = 1002,
    bad_text = 1003,
    bad_attributes = 1004,
    bad_checksum = 1005,
    out_of_order = 1006,
    no_such_queue = 1100,
    queue_exists = 1101,
    receipt_invalid = 1102,
    message_gone = 1103,
    visibility_beyond_max = 1104,
    too_large = 1105,
    not_supported = 1106,
    invalid = 1107,
    receipt_expired = 1108,
    attempt_not_retryable = 1109,
    task_running = 1110,
    no_such_task = 1111,
    task_ended = 1112,
    source_unknown = 1113,
    not_kept = 1114,
    queue_ids_used_up = 1115,
    directory_full = 1116,
    message_numbers_used_up = 1117,
    message_in_flight = 1118,
    message_id_invalid = 1119,
    overloaded = 2000,  // 2xxx: try again after Error::retry_after
    no_memory = 2001,
    no_space = 2002,
    not_ready = 2003,
    over_in_flight = 2004,
    purge_in_progress = 2005,
    changed_meanwhile = 2006,
    queue_deleted_recently = 2007,
    io = 3000,
    corrupt = 3001,
    version = 3002,
    unauthorized = 3003,
    protocol_version = 3004,
    would_block = 9000,  // no credit left: poll() first
    busy = 9001,         // a blocking call while tickets are outstanding
    timed_out = 9002,    // the connection is broken from then on
    broken = 9003,       // the connection is gone
    unreachable = 9004,  // connect() failed; Error::system has the reason
    bad_answer = 9005,   // the server sent an invalid response
    untrusted = 9006,    // connect() with tls: failed handshake or untrusted certificate
    closed = 9007,       // the Producer or Consumer was closed
  };
  static std::string_view name_of(Code code);

  struct Error {
    Code code = Code::ok;
    int system = 0;                            // errno, 0 if none
    std::chrono::milliseconds retry_after{0};  // with 2xxx
    std::uint32_t detail = 0xFFFF'FFFF;        // PROTOCOL.md, "Refusals"
  };
  template <typename T>
  using Result = std::expected<T, Error>;

  struct Server {
    std::uint64_t boot_id = 0;  // changes with every server start
    std::uint32_t credit_frames = 0;
    std::uint32_t credit_bytes = 0;
    std::uint32_t shard = 0;  // the shard of this connection
    std::uint32_t shards = 0;
    std::vector<std::uint16_t> shard_ports;  // port i connects to shard i; may be empty
  };

  // A queue opened by this connection. Copies are valid; another Client refuses it with
  // `bad_handle`, because the same handle may mean another queue there.
  struct Queue {
    std::uint32_t handle = 0;
    std::uint32_t id = 0;
    std::uint32_t shard = 0;
    std::uint32_t maximum_message_size = 0;
    std::chrono::milliseconds visibility{0}, delay{0}, wait{0}, retention{0};
    std::uint64_t client = 0;  // number of the Client that opened it; 0: none
  };

  // A queue attribute with SQS's name: {"VisibilityTimeout", "60"}.
  using QueueAttribute = std::pair<std::string_view, std::string_view>;
  struct Counts {
    std::uint64_t visible = 0, in_flight = 0, delayed = 0;
    std::uint64_t state_bytes = 0;  // server memory besides bodies; set by counts() only
  };
  struct QueueDescription {
    Counts counts;
    std::int64_t created = 0, modified = 0;
    std::vector<std::pair<std::string, std::string>> attributes;
  };
  using Tags = std::vector<std::pair<std::string, std::string>>;
  // A redrive task: it moves dead letters out of a dead-letter queue.
  struct Move {
    enum class State : std::uint8_t { running, completed, cancelled, failed };
    std::uint32_t number = 0;
    State state = State::running;
    Code failure = Code::ok;
    std::uint32_t rate = 0;  // messages a second; 0: no limit
    std::uint64_t moved = 0, to_move = 0;
    std::int64_t started = 0;
    std::string destination;  // empty: each message's source queue
  };
  // The messages to replay. Deleted and expired messages are included, as far as the queue's
  // attribute x-replay-retention has retained them.
  struct ReplayOptions {
    std::int64_t from = 0;  // send time of the first message; 0: the oldest retained
    std::int64_t to = 0;    // send time, exclusive, of the last; 0: now
    // A queue of the same account, FIFO if the source is; empty: the source itself.
    std::string_view destination{};
    std::uint32_t rate = 0;  // messages a second, up to 1,000,000; 0: no limit
    // An SNS filter policy over message attributes, {"colour": ["red"]}, of up to 4096 bytes;
    // empty: all messages.
    std::string_view filter{};
    // Include messages sent by replays. A server before protocol 1.4 refuses it.
    bool copies = false;
  };
  struct Replay {
    enum class State : std::uint8_t { running, completed, cancelled, failed };
    std::uint32_t number = 0;
    State state = State::running;
    Code failure = Code::ok;
    std::uint32_t rate = 0;
    // The effective range, limited by the start time and the messages retained then.
    std::int64_t from = 0, to = 0;
    std::int64_t started = 0;
    std::uint64_t sent = 0;
    std::uint64_t unreadable = 0;  // skipped bytes of the log
    std::string destination;
    std::string filter;
  };
  struct QueueList {
    std::vector<std::string> names;
    bool more = false;  // more queues exist: call again with the last name as `after`
  };

  // A message attribute. type: String, Number or Binary, and optionally ".suffix".
  struct Attribute {
    std::string_view name{}, type{}, value{};
  };
  struct Outgoing {
    std::string_view body{};                  // at least 1 byte, of text that SQS allows
    std::span<const Attribute> attributes{};  // in any order, at most 10
    // Up to 15 minutes, or to the queue's x-max-delay; none: the queue's own.
    std::optional<std::chrono::milliseconds> delay{};
    std::string_view group{};             // MessageGroupId: orders a FIFO queue; else the tenant
    std::string_view deduplication_id{};  // FIFO; empty: the queue uses the content
  };

  // For all messages of a call.
  struct SendOptions {
    // A message expires so long after it first becomes visible: 1 ms to 14 days, and no later than
    // by the queue's x-message-ttl; none: by that alone. A value out of range, or a server before
    // protocol 1.8: bad_attributes.
    std::optional<std::chrono::milliseconds> time_to_live{};
  };

  using MessageId = std::array<std::uint8_t, 16>;
  static std::string to_string(const MessageId& id);  // in SQS's form
  using Receipt = std::array<std::uint8_t, 24>;       // identifies one delivery, to delete it

  struct Sent {
    Code code = Code::ok;  // of this message
    std::uint64_t sequence = 0;
    MessageId id{};
  };

  struct Cancelled {
    Code code = Code::ok;    // of this message
    bool cancelled = false;  // false with `ok`: it was gone
  };

  // The numbers of a batch for submit_send_once(). The sender chooses `producer` once for itself
  // and the queue, and numbers its messages for the queue from 1.
  struct BatchNumbers {
    std::uint64_t producer = 0;  // random_producer(), or another random number; not 0
    std::uint64_t first = 0;     // of the first message; each further message has the next one
    // Every message below is settled, that is, completed or given up, and is never sent again. At
    // most `first`. Raise it as messages are settled: it frees the server's memory.
    std::uint64_t floor = 0;
  };
  static std::uint64_t random_producer();

  struct ReceiveOptions {
    std::uint32_t max = 1;
    std::optional<std::chrono::milliseconds> wait{};  // up to 20 s; none: the queue's own
    // Up to 12 h, or to the queue's x-max-visibility; none: the queue's own.
    std::optional<std::chrono::milliseconds> visibility{};
    std::uint32_t bytes_max =
        0;  // limit on all bodies and attributes; one message always fits; 0: the server's limit
    std::string_view attempt{};  // FIFO: ReceiveRequestAttemptId; repeat it for the same messages
  };

  struct SubscribeOptions {
    // Messages that the server may send before the first submit_acknowledge(): 1 to 65,536.
    std::uint32_t credit = 1;
    // 1 ms to 12 h, or to the queue's x-max-visibility; none: the queue's own.
    std::optional<std::chrono::milliseconds> visibility{};
    // Limit on all bodies and attributes sent at once; one message always fits; 0: the server's.
    std::uint32_t bytes_max = 0;
  };

  // Why the server moved a message to its dead-letter queue.
  enum class DeadLetterReason : std::uint8_t {
    none = 0,     // it did not, or the message was received too often; a server before protocol 1.8
    expired = 1,  // the message's time to live or retention ended, in a queue with x-dlq-on-expiry
  };

  struct MessageView {
    Receipt receipt{};
    MessageId id{};
    std::uint64_t sequence = 0;
    std::int64_t sent = 0;
    std::int64_t first_received = 0;
    std::uint32_t receive_count = 0;
    DeadLetterReason dead_letter_reason = DeadLetterReason::none;
    std::string_view body;
    std::string_view encoded_attributes;  // see attributes_of()
    std::string_view encoded_system;      // system attributes (AWSTraceHeader), likewise
    std::string_view group;
    std::string_view deduplication_id;
    std::string_view origin;  // dead letter only: "account/name" of the source queue
  };
  // Decodes a message's attributes; they point into `encoded`.
  static std::vector<Attribute> attributes_of(std::string_view encoded);

  // A message that owns its bytes.
  struct Message : MessageView {
    explicit Message(const MessageView& view);
    Message(const Message& other) : Message(static_cast<const MessageView&>(other)) {}
    Message(Message&& other) noexcept = default;
    Message& operator=(const Message&) = delete;
    Message& operator=(Message&& other) noexcept = default;

   private:
    std::unique_ptr<char[]> bytes_;
  };

  using Ticket = std::uint32_t;
  struct Completion {
    Ticket ticket = 0;
    Error error;                            // error of the whole request; the spans are then empty
    std::span<const Sent> sent;             // of submit_send*, in the order of the batch
    std::span<const MessageView> messages;  // of submit_receive and submit_subscribe
    // of submit_delete_message, submit_change_visibility and submit_acknowledge
    std::span<const Code> codes;
    bool more = false;  // messages of a subscription: the ticket stays outstanding
  };

  static Result<Client> connect(const Options& options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  const Server& server() const;
  bool connected() const;
  int descriptor() const;  // for the caller's own poll(2); -1 when broken

  // --- blocking ---
  Result<void> ping();
  Result<Queue> create_queue(std::string_view name,
                             std::span<const QueueAttribute> attributes = {});
  Result<Queue> open_queue(std::string_view name, std::string_view account = {});
  Result<void> delete_queue(const Queue& queue);
  Result<void> set_attributes(const Queue& queue, std::span<const QueueAttribute> attributes);
  Result<QueueDescription> describe(const Queue& queue);
  Result<QueueList> list_queues(std::string_view prefix = {}, std::string_view after = {},
                                std::uint16_t max = 1000);
  Result<void> purge(const Queue& queue);
  Result<Counts> counts(const Queue& queue);

  Result<Tags> tags(const Queue& queue);
  Result<void> set_tags(const Queue& queue, std::span<const QueueAttribute> set,
                        std::span<const std::string_view> removed = {});
  // The queues that use this dead-letter queue.
  Result<QueueList> sources(const Queue& queue, std::string_view after = {},
                            std::uint16_t max = 1000);
  // Moves the visible messages of a dead-letter queue; returns the task's number.
  Result<std::uint32_t> start_move(const Queue& source, std::string_view destination = {},
                                   std::uint32_t rate = 0);
  Result<std::uint64_t> cancel_move(const Queue& source,
                                    std::uint32_t number);  // number of moved messages
  Result<std::vector<Move>> moves(const Queue& source);     // newest first
  // Replays a queue's messages as new messages; returns the task's number. The task continues
  // without this Client, and after a restart of the server. Errors: not_kept (x-replay-retention is
  // 0), task_running (one at a time), no_such_queue (the destination), unknown_op (a server before
  // protocol 1.3).
  Result<std::uint32_t> start_replay(const Queue& source, const ReplayOptions& options);
  Result<std::uint64_t> cancel_replay(const Queue& source,
                                      std::uint32_t number);  // number of sent messages
  Result<std::vector<Replay>> replays(const Queue& source);   // newest first

  Result<Sent> send(const Queue& queue, const Outgoing& message);  // a refused message is an Error
  Result<Sent> send(const Queue& queue, std::string_view body) {
    return send(queue, Outgoing{.body = body});
  }
  Result<std::vector<Sent>> send(const Queue& queue, std::span<const Outgoing> messages);
  Result<Sent> send(const Queue& queue, const Outgoing& message, const SendOptions& options);
  Result<std::vector<Sent>> send(const Queue& queue, std::span<const Outgoing> messages,
                                 const SendOptions& options);
  Result<std::vector<Message>> receive(const Queue& queue, const ReceiveOptions& options);
  Result<void> delete_message(const Queue& queue, const Receipt& receipt);
  Result<std::vector<Code>> delete_message(const Queue& queue, std::span<const Receipt> receipts);
  Result<void> change_visibility(const Queue& queue, const Receipt& receipt,
                                 std::chrono::milliseconds visibility);
  // Gives a received message back without counting its delivery; it is visible again after `wait`,
  // up to 12 h or the queue's x-max-visibility. Errors, of this and the next two: unknown_op (a
  // server before protocol 1.7).
  Result<void> return_uncounted(const Queue& queue, const Receipt& receipt,
                                std::chrono::milliseconds wait = {});
  // Deletes messages that wait or are delayed, by the ids that their sends returned. One that is in
  // flight is message_in_flight, unless `even_in_flight`: then it is deleted when its consumer
  // gives it back.
  Result<std::vector<Cancelled>> cancel(const Queue& queue, std::span<const MessageId> ids,
                                        bool even_in_flight = false);
  // Sets when messages are delivered next: `delay` from now, 0 for at once, up to 15 minutes or the
  // queue's x-max-delay (otherwise `invalid`). Of a message: message_gone, message_in_flight.
  Result<std::vector<Code>> reschedule(const Queue& queue, std::span<const MessageId> ids,
                                       std::chrono::milliseconds delay);

  // --- pipelined ---
  // Each call encodes its request and keeps no reference to its arguments. The bytes are sent by
  // the next poll() or flush(), or when enough have gathered.
  Result<Ticket> submit_send(const Queue& queue, std::span<const Outgoing> messages);
  Result<Ticket> submit_send(const Queue& queue, std::span<const Outgoing> messages,
                             const SendOptions& options);
  // The same for a batch that may be sent again, for example on a new connection after `broken`:
  // the server accepts each message once, by its producer and number, in any order of batches. A
  // message that it accepted before completes with `ok` and the sequence and id of the first time;
  // both are 0 if the server no longer knows them. A refused message was not accepted: send it
  // again with its number, or give it up.
  // A Producer does this by itself, with retries and reconnects, on FIFO queues too. Use this call
  // to resend after a restart of your program, from a file or a database.
  // Limits: standard queues. The server remembers a producer for five minutes after its last
  // accepted message, also across restarts; a later resend is accepted again. It knows up to 1024
  // gaps between the accepted messages above the floor of a producer.
  // Errors: not_supported (a FIFO queue, or a server before protocol 1.5), invalid (numbers out of
  // range). Of a message: overloaded (more gaps, or the server's memory for producers is full).
  Result<Ticket> submit_send_once(const Queue& queue, const BatchNumbers& numbers,
                                  std::span<const Outgoing> messages);
  Result<Ticket> submit_send_once(const Queue& queue, const BatchNumbers& numbers,
                                  std::span<const Outgoing> messages, const SendOptions& options);
  Result<Ticket> submit_receive(const Queue& queue, const ReceiveOptions& options);
  Result<Ticket> submit_delete_message(const Queue& queue, std::span<const Receipt> receipts);
  Result<Ticket> submit_change_visibility(const Queue& queue, std::span<const Receipt> receipts,
                                          std::chrono::milliseconds visibility);
  // Subscribes to a queue: the server sends messages as they arrive, one credit each. The ticket
  // completes with `more` for each batch, and once without when the subscription has ended: after
  // submit_unsubscribe(), or with the Error that ended it. At most 256 subscriptions a connection.
  // Errors: not_supported (a server before protocol 1.5), invalid, overloaded.
  Result<Ticket> submit_subscribe(const Queue& queue, const SubscribeOptions& options);
  // Deletes messages, up to 1024 and possibly none, and grants credit to a subscription. A
  // subscription that has ended ignores the credit.
  Result<Ticket> submit_acknowledge(const Queue& queue, Ticket subscription,
                                    std::span<const Receipt> receipts, std::uint32_t credit);
  Result<Ticket> submit_unsubscribe(Ticket subscription);
  Result<void> flush();
  // Waits for a response, at most `timeout`, and puts all arrived ones into `completions` (cleared
  // first). Returns their number. When the connection fails, every outstanding ticket completes
  // once with the Error (`broken` or `bad_answer`); later calls return it.
  Result<std::size_t> poll(std::vector<Completion>& completions, std::chrono::microseconds timeout);
  std::size_t outstanding() const;

 private:
  class [[gnu::visibility("hidden")]] Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl
