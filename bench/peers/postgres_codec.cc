// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/peer_codec.h"
#include "bench/peers/wire.h"

// A table of PostgreSQL as a queue, over protocol 3 with prepared statements: INSERT; UPDATE of the
// first visible row, found with SKIP LOCKED, which hides it for a minute; DELETE. Each statement is
// a transaction. There is no waiting receive.

namespace pawl::load {
namespace {

constexpr std::size_t head_bytes = 5;  // type, length

void put_text(std::string& out, std::string_view text) { out.append(text).append(1, '\0'); }

// Appends a message; its length is known at finish().
class Outgoing {
 public:
  Outgoing(std::string& out, char type) : out_(out), begin_(out.size() + 1) {
    out.append(1, type).append(sizeof(std::uint32_t), '\0');
  }
  void finish() { patch_big(out_, begin_, static_cast<std::uint32_t>(out_.size() - begin_)); }

 private:
  std::string& out_;
  std::size_t begin_;
};

void append_message(std::string& out, char type, std::string_view payload) {
  Outgoing message(out, type);
  out.append(payload);
  message.finish();
}

// Bytes of the messages up to and with ReadyForQuery; 0: incomplete.
std::size_t answer_bytes(std::string_view bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= head_bytes) {
    const std::size_t next = at + 1 + big_at<std::uint32_t>(bytes, at + 1);
    if (next > bytes.size()) return 0;
    if (bytes[at] == 'Z') return next;
    at = next;
  }
  return 0;
}

// The text of field M of an ErrorResponse.
std::string_view error_text(std::string_view payload) {
  for (std::size_t at = 0; at < payload.size() && payload[at] != 0;) {
    const std::string_view field = payload.substr(at + 1, payload.find('\0', at) - at - 1);
    if (payload[at] == 'M') return field;
    at += field.size() + 2;
  }
  return "an error without a text";
}

class PostgresCodec : public PeerCodec {
 public:
  PostgresCodec(const LoadOptions& options, const Target& target)
      : PeerCodec(options), table_(target.queue) {}

  std::string prepare(Channel& channel, bool create) override {
    std::string bytes;
    put_big(bytes, std::uint32_t{0});
    put_big(bytes, std::uint32_t{3} << 16);
    for (const char* text : {"user", "bench", "database", "postgres", ""}) put_text(bytes, text);
    patch_big(bytes, 0, static_cast<std::uint32_t>(bytes.size()));
    std::string fault = demand(channel, bytes);
    if (fault.empty() && create) fault = create_table(channel);
    return fault.empty() ? prepare_statements(channel) : fault;
  }

  bool waits() const override { return false; }

  void append_send(std::string& out, std::uint32_t slot, const Mark& mark) override {
    execute(out, "send", [&] {
      put_big(out, options_.body);
      append_body(out, mark.stamp, mark.sequence);
    });
    push(slot, Kind::send, 1);
  }

  void append_receive(std::string& out, std::uint32_t slot, bool) override {
    execute(out, "receive", {});
    push(slot, Kind::receive, 1);
  }

  void append_delete(std::string& out, std::uint32_t slot, const Delivered* first,
                     std::uint32_t count) override {
    CHECK(count == 1, "{} messages of a row", count);
    execute(out, "delete", [&] {
      put_big(out, static_cast<std::uint32_t>(first->receipt.size()));
      out.append(first->receipt);
    });
    push(slot, Kind::delete_message, 1);
  }

  std::size_t parse(std::string_view bytes, std::vector<Reply>& replies,
                    std::vector<Delivered>& delivered) override {
    std::size_t taken = 0;
    while (const std::size_t size = answer_bytes(bytes.substr(taken))) {
      if (idle()) return broken;
      take(bytes.substr(taken, size), delivered);
      count_answer(replies);
      taken += size;
    }
    return taken;
  }

 private:
  // Sends a request outside the load. Returns an error text; empty: success.
  static std::string demand(Channel& channel, std::string_view bytes) {
    std::string answer;
    const auto complete = [](std::string_view b) {
      return b.starts_with('E') ? b.size() : answer_bytes(b);  // a refused start ends in no Z
    };
    std::string fault = ask(channel, bytes, complete, answer);
    if (!fault.empty()) return fault;
    for (std::size_t at = 0; answer.size() - at >= head_bytes;
         at += 1 + big_at<std::uint32_t>(answer, at + 1)) {
      if (answer[at] == 'E')
        return "PostgreSQL refused: " +
               std::string(error_text(std::string_view(answer).substr(at + head_bytes)));
    }
    return {};
  }

  std::string create_table(Channel& channel) {
    std::string bytes, text;
    put_text(text, "CREATE TABLE IF NOT EXISTS " + table_ +
                       " (id bigserial PRIMARY KEY, visible timestamptz NOT NULL DEFAULT "
                       "'-infinity', body text NOT NULL); CREATE INDEX IF NOT EXISTS " +
                       table_ + "_visible ON " + table_ + " (visible, id)");
    append_message(bytes, 'Q', text);
    return demand(channel, bytes);
  }

  std::string prepare_statements(Channel& channel) {
    const std::pair<const char*, std::string> statements[] = {
        {"send",    "INSERT INTO " + table_ + " (body) VALUES ($1)"     },
        {"receive", "UPDATE " + table_ +
                        " SET visible = now() + interval '60 s' WHERE id = (SELECT id FROM " +
                        table_ +
                        " WHERE visible <= now() ORDER BY visible, id FOR UPDATE SKIP LOCKED "
                        "LIMIT 1) RETURNING id, body"},
        {"delete",  "DELETE FROM " + table_ + " WHERE id = $1"          },
    };
    std::string bytes;
    for (const auto& [name, text] : statements) {
      Outgoing parse(bytes, 'P');
      put_text(bytes, name);
      put_text(bytes, text);
      put_big(bytes, std::uint16_t{0});  // types are inferred
      parse.finish();
    }
    append_message(bytes, 'S', {});
    return demand(channel, bytes);
  }

  // Bind, Execute and Sync. `put_parameter`: appends length and bytes of the one parameter.
  static void execute(std::string& out, std::string_view statement,
                      const std::function<void()>& put_parameter) {
    Outgoing bind(out, 'B');
    put_text(out, "");
    put_text(out, statement);
    put_big(out, std::uint16_t{0});  // parameters are text
    put_big(out, static_cast<std::uint16_t>(put_parameter ? 1 : 0));
    if (put_parameter) put_parameter();
    put_big(out, std::uint16_t{0});  // results are text
    bind.finish();
    Outgoing run(out, 'E');
    put_text(out, "");
    put_big(out, std::uint32_t{0});  // all rows
    run.finish();
    append_message(out, 'S', {});
  }

  void take(std::string_view answer, std::vector<Delivered>& delivered) {
    Request& request = oldest();
    request.reply.first_delivered = static_cast<std::uint32_t>(delivered.size());
    for (std::size_t at = 0; at < answer.size();) {
      const std::size_t length = big_at<std::uint32_t>(answer, at + 1);
      const std::string_view payload = answer.substr(at + head_bytes, length - 4);
      if (answer[at] == 'E') {
        request.reply.failed = 1;
        request.reply.reason = error_text(payload);
      } else if (answer[at] == 'D') {
        take_row(payload, delivered);
        request.reply.good = 1;
      } else if (answer[at] == 'C' && request.kind != Kind::receive) {
        request.reply.good = 1;
      }
      at += 1 + length;
    }
  }

  // A row of two columns: id and body.
  static void take_row(std::string_view payload, std::vector<Delivered>& delivered) {
    const std::size_t id_at = 2 + 4;
    const std::size_t id_bytes = big_at<std::uint32_t>(payload, 2);
    const std::size_t body_at = id_at + id_bytes + 4;
    if (body_at > payload.size()) return;
    delivered.push_back(delivered_of(payload.substr(id_at, id_bytes), payload.substr(body_at)));
  }

  std::string table_;
};

}  // namespace

std::unique_ptr<Codec> make_postgres_codec(const LoadOptions& options, const Target& target) {
  return std::make_unique<PostgresCodec>(options, target);
}

}  // namespace pawl::load
