// SPDX-License-Identifier: Apache-2.0
// A Producer and a Consumer while `pawl serve` is killed and restarted again and again.
//
// Each accepted message must be completed once and handled; on a FIFO queue handled once, in the
// order of its group. A standard queue may deliver a message again, but accepts none twice. Its
// messages are pushed, those of a FIFO queue are polled. On the third queue four threads handle
// messages, and return one in ten once: its group must stop until it comes again.
// PAWL_KILLS is the number of kills (5), PAWL_SEED the seed of their times.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pawl/consumer.h>
#include <pawl/producer.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pawl {
namespace {

using Clock = std::chrono::steady_clock;
using Code = Client::Code;
using std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::size_t groups = 8;
constexpr std::uint64_t backlog_max = 2000;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

// A free loopback port below those that the system gives to clients, so that it stays free during a
// restart.
std::uint16_t free_port(std::mt19937_64& random) {
  for (;;) {
    const auto port = static_cast<std::uint16_t>(20'000 + random() % 10'000);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::close(fd);
    if (bound == 0) return port;
  }
}

// `pawl serve` on a data directory. It ends with the test.
class ServerProcess {
 public:
  explicit ServerProcess(std::uint16_t port) : binary_("127.0.0.1:" + std::to_string(port)) {
    char name[] = "/tmp/pawl-kills-XXXXXX";
    EXPECT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  ~ServerProcess() {
    kill();
    if (!testing::Test::HasFailure()) std::filesystem::remove_all(directory_);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void launch() {
    const std::string data = directory_ + "/data";
    const char* const arguments[] = {PAWL_PROGRAM, "serve",         "--data",  data.c_str(),
                                     "--http",     "127.0.0.1:0",   "--admin", "127.0.0.1:0",
                                     "--binary",   binary_.c_str(), nullptr};
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    process_ = ::fork();
    ASSERT_GE(process_, 0);
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], STDOUT_FILENO);
      const int log = ::open((directory_ + "/stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(log, STDERR_FILENO);
      ::execv(PAWL_PROGRAM, const_cast<char* const*>(arguments));
      ::_exit(127);
    }
    ::close(ends[1]);
    if (output_ >= 0) ::close(output_);
    output_ = ends[0];
  }
  // Waits for the line that says that it is ready.
  void wait_ready() {
    pollfd entry{.fd = output_, .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&entry, 1, 60'000), 1);
    char line[4096];
    ASSERT_GT(::read(output_, line, sizeof line), 0) << "see " << directory_ << "/stderr";
  }
  void kill() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    process_ = -1;
    if (output_ >= 0) ::close(std::exchange(output_, -1));
  }

 private:
  std::string binary_, directory_;
  pid_t process_ = -1;
  int output_ = -1;
};

// Every accepted message, by its number: its completions, and the times that it was handled.
class Ledger {
 public:
  std::uint64_t add() {
    const std::lock_guard lock(mutex_);
    entries_.emplace_back();
    return entries_.size() - 1;
  }
  static void on_complete(void* context, std::uint64_t cookie,
                          const Client::Result<Client::Sent>& outcome) {
    auto& self = *static_cast<Ledger*>(context);
    const std::lock_guard lock(self.mutex_);
    ++self.entries_[cookie].completions;
    self.failed_ += outcome ? 0 : 1;
  }
  // `returns`: one message in ten is returned at its first delivery.
  Verdict handle(const Client::MessageView& message, bool returns) {
    std::uint64_t number = 0;
    std::from_chars(message.body.data(), message.body.data() + message.body.size(), number);
    std::atomic<int>& busy = busy_[number % groups];
    if (busy.fetch_add(1) > 0) ++overlapped_;
    const Verdict verdict = note(message, number, returns);
    busy.fetch_sub(1);
    return verdict;
  }

  Verdict note(const Client::MessageView& message, std::uint64_t number, bool returns) {
    const std::lock_guard lock(mutex_);
    if (number >= entries_.size()) {
      ++foreign_;
      return Verdict::done();
    }
    Entry& entry = entries_[number];
    if (returns && number % 10 == 3 && !std::exchange(entry.returned, true))
      return Verdict::retry_in(milliseconds(number % 3));
    if (entry.handled++ > 0) {
      ++duplicated_;
      if (message.sequence != entry.sequence) ++accepted_twice_;
      return Verdict::done();
    }
    entry.sequence = message.sequence;
    std::uint64_t& last = last_[number % groups];
    if (number + 1 <= last) ++disordered_;
    last = number + 1;
    ++handled_;
    return Verdict::done();
  }

  std::uint64_t sent() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  std::uint64_t handled() const {
    const std::lock_guard lock(mutex_);
    return handled_;
  }
  // Expects that nothing went wrong; returns the figures.
  std::string check(bool fifo) const {
    const std::lock_guard lock(mutex_);
    std::uint64_t lost = 0, completed_wrongly = 0;
    for (const Entry& entry : entries_) {
      lost += entry.handled == 0 ? 1 : 0;
      completed_wrongly += entry.completions != 1 ? 1 : 0;
    }
    EXPECT_EQ(lost, 0u);
    if (fifo) {
      EXPECT_EQ(duplicated_, 0u);
      EXPECT_EQ(disordered_, 0u);
      EXPECT_EQ(overlapped_, 0u) << "a group has one handler at a time";
    }
    EXPECT_EQ(accepted_twice_, 0u);
    EXPECT_EQ(foreign_, 0u);
    EXPECT_EQ(failed_, 0u);
    EXPECT_EQ(completed_wrongly, 0u);
    return std::to_string(entries_.size()) + " messages, " + std::to_string(lost) + " lost, " +
           std::to_string(duplicated_) + " duplicated, " + std::to_string(accepted_twice_) +
           " accepted twice, " + std::to_string(disordered_) + " out of order, " +
           std::to_string(completed_wrongly) + " not completed once";
  }

 private:
  struct Entry {
    std::uint32_t completions = 0, handled = 0;
    bool returned = false;
    std::uint64_t sequence = 0;  // of the message in its queue
  };
  mutable std::mutex mutex_;
  std::atomic<int> busy_[groups] = {};  // handlers of each group
  std::atomic<std::uint64_t> overlapped_ = 0;
  std::vector<Entry> entries_;
  std::uint64_t last_[groups] = {};  // number of the last handled message of each group, plus 1
  std::uint64_t handled_ = 0, duplicated_ = 0, accepted_twice_ = 0, disordered_ = 0, foreign_ = 0,
                failed_ = 0;
};

class Load {
 public:
  Load(std::uint16_t port, std::string queue)
      : queue_(std::move(queue)),
        fifo_(queue_.ends_with(".fifo")),
        returns_(queue_.starts_with("returned")) {
    Endpoint endpoint;
    endpoint.connection.port = port;
    endpoint.backoff_min = 5ms;
    endpoint.backoff_max = 100ms;
    create_queue(endpoint.connection);
    producer_ = start_producer({.endpoint = endpoint, .queue = queue_});
    consumer_ = start_consumer({.endpoint = endpoint,
                                .queue = queue_,
                                .concurrency = 200,
                                .handler_threads = returns_ ? 4u : 1u,
                                .visibility = 2s});
    sender_ = std::thread([this] { send(); });
  }

  ~Load() {
    abandoned_ = stopping_ = true;
    if (sender_.joinable()) sender_.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Sends no more, and waits until every message is handled and confirmed.
  void finish(std::string& figures) {
    stopping_ = true;
    sender_.join();
    EXPECT_TRUE(producer_->drain(Clock::now() + 60s));
    for (const auto end = Clock::now() + 60s; ledger_.handled() < ledger_.sent();) {
      ASSERT_LT(Clock::now(), end) << ledger_.handled() << " of " << ledger_.sent();
      std::this_thread::sleep_for(5ms);
    }
    EXPECT_TRUE(consumer_->drain(Clock::now() + 60s));
    figures = ledger_.check(fifo_) + ", " + std::to_string(producer_->status().connections) +
              " + " + std::to_string(consumer_->status().connections) + " connections";
  }

 private:
  void create_queue(const Client::Options& connection) {
    auto client = Client::connect(connection);
    ASSERT_TRUE(client);
    const Client::QueueAttribute attributes[] = {
        {"FifoQueue", "true"}
    };
    ASSERT_TRUE(client->create_queue(queue_, std::span(attributes).first(fifo_ ? 1 : 0)));
  }
  std::unique_ptr<Producer> start_producer(const Producer::Options& options) {
    auto made = Producer::start(options, &Ledger::on_complete, &ledger_);
    EXPECT_TRUE(made);
    return std::make_unique<Producer>(std::move(*made));
  }
  std::unique_ptr<Consumer> start_consumer(const Consumer::Options& options) {
    auto made = Consumer::start(options, [this](const auto& message, Consumer::Token) {
      return ledger_.handle(message, returns_);
    });
    EXPECT_TRUE(made);
    return std::make_unique<Consumer>(std::move(*made));
  }
  void send() {
    while (!stopping_) {
      if (ledger_.sent() - ledger_.handled() >= backlog_max) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      const std::uint64_t number = ledger_.add();
      const std::string body = std::to_string(number) + std::string(number % 300, ' ');
      const std::string group = "g" + std::to_string(number % groups);
      while (!producer_->send({.body = body, .group = fifo_ ? group : std::string_view()}, number)
                  .accepted() &&
             !abandoned_)
        std::this_thread::sleep_for(1ms);
    }
  }

  const std::string queue_;
  const bool fifo_;
  const bool returns_;
  Ledger ledger_;
  std::unique_ptr<Producer> producer_;
  std::unique_ptr<Consumer> consumer_;
  std::thread sender_;
  std::atomic<bool> stopping_ = false, abandoned_ = false;
};

class ClientKills : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Queues, ClientKills,
                         testing::Values("orders.fifo", "orders", "returned.fifo"));

TEST_P(ClientKills, LoseNothing) {
  const std::uint64_t kills = setting("PAWL_KILLS", 5);
  const std::uint64_t seed = setting("PAWL_SEED", std::random_device{}());
  std::mt19937_64 random(seed);
  const std::uint16_t port = free_port(random);
  ServerProcess server(port);
  ASSERT_NO_FATAL_FAILURE(server.launch());
  ASSERT_NO_FATAL_FAILURE(server.wait_ready());
  Load load(port, GetParam());
  std::uint64_t in_recovery = 0;
  for (std::uint64_t kill = 0; kill < kills; ++kill) {
    std::this_thread::sleep_for(milliseconds(50 + random() % 150));
    server.kill();
    if (random() % 5 == 0) {  // a second kill, during recovery
      ++in_recovery;
      ASSERT_NO_FATAL_FAILURE(server.launch());
      std::this_thread::sleep_for(milliseconds(random() % 30));
      server.kill();
    }
    ASSERT_NO_FATAL_FAILURE(server.launch());
    ASSERT_NO_FATAL_FAILURE(server.wait_ready());
  }
  std::string figures;
  load.finish(figures);
  std::printf("kill -9: client library, %s, %llu kills + %llu in recovery, %s, seed %llu\n",
              GetParam(), static_cast<unsigned long long>(kills),
              static_cast<unsigned long long>(in_recovery), figures.c_str(),
              static_cast<unsigned long long>(seed));
}

}  // namespace
}  // namespace pawl
