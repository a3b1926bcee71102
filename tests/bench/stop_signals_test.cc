// SPDX-License-Identifier: Apache-2.0
#include "bench/stop_signals.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <optional>

#include "bench/load_team.h"
#include "tests/bench/load_fixture.h"

namespace pawl {
namespace {

using load::StopSignals;

// Signals have their default action at the beginning, also where a shell ignores SIGINT.
class DefaultSignals {
 public:
  DefaultSignals() {
    for (std::size_t i = 0; i < 2; ++i) former_[i] = std::signal(numbers[i], SIG_DFL);
  }
  ~DefaultSignals() {
    for (std::size_t i = 0; i < 2; ++i) std::signal(numbers[i], former_[i]);
  }

 private:
  static constexpr int numbers[] = {SIGINT, SIGTERM};
  void (*former_[2])(int);
};

bool is_readable(int descriptor) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

std::string text_of(std::FILE* file) {
  std::string text(256, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(StopSignals, RequestAStopOnceAndSayHowToEndAtOnce) {
  const DefaultSignals defaults;
  std::FILE* const err = std::tmpfile();
  for (const int number : {SIGINT, SIGTERM}) {
    std::rewind(err);
    const StopSignals stop(err);
    EXPECT_FALSE(stop.requested());
    EXPECT_FALSE(is_readable(stop.descriptor()));
    std::raise(number);
    EXPECT_TRUE(stop.requested());
    EXPECT_TRUE(is_readable(stop.descriptor()));
    const std::string text = text_of(err);
    EXPECT_NE(text.find("waits for responses, up to 5 s for each step; "), text.npos) << text;
    EXPECT_NE(text.find("a second signal ends it at once\n"), text.npos) << text;
  }
  std::fclose(err);
}

TEST(StopSignals, LeaveTheSecondSignalItsDefaultAction) {
  const DefaultSignals defaults;
  const auto raise_both = [](int first, int second) {
    const StopSignals stop(stderr);
    std::raise(first);
    std::raise(second);
    std::_Exit(7);
  };
  EXPECT_EXIT(raise_both(SIGINT, SIGINT), testing::KilledBySignal(SIGINT), "stopping: ");
  EXPECT_EXIT(raise_both(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "stopping: ");
}

TEST(StopSignals, RestoreTheFormerHandlersAndRespectIgnoredSignals) {
  const DefaultSignals defaults;
  std::signal(SIGINT, SIG_IGN);
  {
    const StopSignals stop(stderr);
    std::raise(SIGINT);
    EXPECT_FALSE(stop.requested());
  }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);
}

TEST(StopSignals, LeaveAnIgnoredSignalIgnoredAfterTheFirstOne) {
  const DefaultSignals defaults;
  const auto raise_both = [](int first, int ignored) {
    std::signal(ignored, SIG_IGN);
    const StopSignals stop(stderr);
    std::raise(first);
    std::raise(ignored);
    std::_Exit(stop.requested() ? 7 : 1);
  };
  EXPECT_EXIT(raise_both(SIGTERM, SIGINT), testing::ExitedWithCode(7), "stopping: ");
  EXPECT_EXIT(raise_both(SIGINT, SIGTERM), testing::ExitedWithCode(7), "stopping: ");
}

// --- whole loads ---

// A load that raises signals itself, with its n-th send.
class InterruptedLoad : public LoadRun {
 protected:
  InterruptedLoad() {
    options_.seconds = 60;  // no test waits for this
    options_.connections = 2;
    options_.threads = 2;
  }

  // Raises `signals` signals with send `at`, of all connections.
  int run_interrupted(int at = 100, int signals = 1) {
    return run_at(interrupted_target(at, signals));
  }
  load::Target interrupted_target(int at, int signals) {
    sends_ = 0;
    interrupted_send_ = at;
    signals_ = signals;
    return target_with<Interrupter>();
  }
  template <typename MadeCodec>
  int run_with() {
    return run_at(target_with<MadeCodec>());
  }
  template <typename MadeCodec>
  load::Target target_with() {
    load::Target target;
    EXPECT_EQ(load::parse_target(options_, target), "");
    target.make = [](const LoadOptions& options, const load::Target& to) {
      return std::unique_ptr<load::Codec>(std::make_unique<MadeCodec>(options, to));
    };
    return target;
  }
  static int sends() { return sends_; }
  bool queue_exists() {
    LoadOptions options = options_;
    options.create = options.cleanup = false;
    options.warm_up = 0;
    options.seconds = 0.01;
    return kept([&](auto* out, auto* err) { return run_load(options, out, err); }) == 0;
  }

  class SignalledCleanup : public WrappedCodec {
   public:
    using WrappedCodec::WrappedCodec;
    std::string delete_queue(load::Channel& channel) override {
      std::raise(SIGINT);
      return WrappedCodec::delete_queue(channel);
    }
  };

 private:
  class Interrupter : public WrappedCodec {
   public:
    using WrappedCodec::WrappedCodec;
    void append_send(std::string& out, std::uint32_t slot, const load::Mark& mark) override {
      WrappedCodec::append_send(out, slot, mark);
      if (++sends_ != interrupted_send_) return;
      for (int i = 0; i < signals_; ++i) std::raise(SIGINT);
    }
  };

  static inline std::atomic<int> sends_;
  static inline int interrupted_send_, signals_;
  const DefaultSignals defaults_;
};

TEST_F(InterruptedLoad, PrintsAndMarksTheFiguresOfTheTimeBefore) {
  EXPECT_EQ(run_interrupted(), 130) << err_;
  EXPECT_NE(out_.find("\"interrupted\":true,"), out_.npos) << out_;
  EXPECT_GE(number("messages"), 100) << out_;
  EXPECT_EQ(number("errors"), 0) << "it waits for responses: " << out_;
  EXPECT_NE(out_.find("\"rounds\":[]"), out_.npos) << "none is complete: " << out_;
  EXPECT_NE(err_.find("total "), err_.npos) << err_;
  EXPECT_NE(err_.find("interrupted: the total ends at the signal; complete rounds: 0"), err_.npos)
      << err_;
}

TEST_F(InterruptedLoad, SaysThatNothingWasMeasuredDuringTheWarmUp) {
  options_.warm_up = 60;
  EXPECT_EQ(run_interrupted(), 130) << err_;
  EXPECT_EQ(out_, "");
  EXPECT_NE(err_.find("nothing was measured"), err_.npos) << err_;
  EXPECT_EQ(err_.find("total "), err_.npos) << err_;
}

TEST_F(InterruptedLoad, DeletesTheQueueThatItCreated) {
  options_.cleanup = true;
  for (const double warm_up : {0, 60}) {
    options_.warm_up = warm_up;
    EXPECT_EQ(run_interrupted(), 130) << err_;
    EXPECT_FALSE(queue_exists());
  }
  options_.cleanup = false;
  EXPECT_EQ(run_interrupted(), 130) << err_;
  EXPECT_TRUE(queue_exists()) << err_;
}

TEST_F(InterruptedLoad, IsNotMarkedIfTheSignalComesDuringTheCleanup) {
  options_.cleanup = true;
  options_.seconds = 0.1;
  EXPECT_EQ(run_with<SignalledCleanup>(), 0) << err_;
  EXPECT_NE(err_.find("stopping: waits for responses"), err_.npos) << err_;
  EXPECT_NE(out_.find("\"interrupted\":false,"), out_.npos) << out_;
  EXPECT_FALSE(queue_exists());
}

TEST_F(InterruptedLoad, DeliversAndChecksTheMessagesThatItSent) {
  options_.workload = LoadOptions::Workload::e2e;
  options_.verify = true;
  options_.body = 64;
  EXPECT_EQ(run_interrupted(), 130) << err_;
  EXPECT_EQ(number("lost"), 0) << out_;
  EXPECT_GE(number("messages"), 100) << out_;
}

TEST_F(InterruptedLoad, SendsNoRequestThatFallsDueLater) {
  options_.rate = 1;
  EXPECT_EQ(run_interrupted(1), 130) << err_;
  EXPECT_EQ(number("messages"), options_.batch) << out_;
  EXPECT_EQ(number("errors"), 0) << out_;
}

// A thread issues at most one send for each free slot until it notices the signal.
TEST_F(InterruptedLoad, NeitherSendsNorCountsOverdueRequests) {
  options_.rate = 1e9;
  EXPECT_EQ(run_interrupted(), 130) << err_;
  const auto slots = static_cast<int>(options_.connections * options_.depth);
  EXPECT_LE(sends(), 100 + slots);
  EXPECT_EQ(number("messages"), static_cast<int>(options_.batch) * sends()) << out_;
  EXPECT_EQ(number("errors"), 0) << out_;
}

TEST_F(InterruptedLoad, HasTheFiguresOfTheFirstStepOfARampIfThatIsInterrupted) {
  options_.ramp = "100000:200000:2";
  EXPECT_EQ(run_interrupted(), 130) << err_;
  EXPECT_EQ(out_.find("\"ramp\""), out_.npos) << out_;
  EXPECT_EQ(err_.find("asked"), err_.npos) << err_;
  EXPECT_NE(err_.find("interrupted: the total ends at the signal"), err_.npos) << err_;
  EXPECT_NE(out_.find("\"interrupted\":true,"), out_.npos) << out_;
}

TEST_F(InterruptedLoad, LeavesTheInterruptedStepOutOfARamp) {
  options_.connections = options_.threads = options_.batch = 1;
  options_.ramp = "20:1000:2";
  options_.seconds = 0.1;  // two sends; the next step would have a hundred
  options_.p99_limit_us = 60'000'000;
  EXPECT_EQ(run_interrupted(4), 130) << err_;
  EXPECT_NE(out_.find("\"ramp\":[{\"rate\":20.0,"), out_.npos) << out_;
  EXPECT_EQ(out_.find("\"rate\":1000.0,\"messages_per_s\""), out_.npos) << out_;
  EXPECT_NE(err_.find("interrupted: the step of the signal is left out"), err_.npos) << err_;
  EXPECT_EQ(number("messages"), 2) << "those of the first step: " << out_;
}

TEST_F(InterruptedLoad, EndsAtOnceByTheSecondSignal) {
  // The child starts threads: it begins the test anew instead of going on from a fork.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(run_interrupted(100, 2)), testing::KilledBySignal(SIGINT), "");
}

// During its lifetime, the process can open no more descriptors.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &former_);
    const rlimit none{.rlim_cur = 0, .rlim_max = former_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &former_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit former_{};
};

TEST_F(InterruptedLoad, NeedsNoDescriptorForSignals) {
  std::optional<StopSignals> stop;
  {
    const NoDescriptors none;
    stop.emplace(stderr);
  }
  ASSERT_EQ(stop->descriptor(), -1);
  const load::Target target = interrupted_target(100, 1);
  const auto result = load::run_threads(options_, target, *stop, [](const load::Interval&) {});
  ASSERT_TRUE(result) << result.error();
  EXPECT_GE(result->total.messages, 100u);
  EXPECT_TRUE(result->interrupted);
}

TEST_F(LoadRun, IsNotMarkedWithoutASignal) {
  EXPECT_EQ(run(), 0) << err_;
  EXPECT_NE(out_.find("\"interrupted\":false,"), out_.npos) << out_;
}

// An output that notes if its last text met the default action of SIGINT.
class NotingOutput {
 public:
  NotingOutput() : file_(::fopencookie(this, "w", {nullptr, note, nullptr, nullptr})) {}
  ~NotingOutput() { std::fclose(file_); }
  NotingOutput(const NotingOutput&) = delete;
  NotingOutput& operator=(const NotingOutput&) = delete;

  std::FILE* file() { return file_; }
  const std::string& text() const { return text_; }
  bool met_default() const { return met_default_; }

 private:
  static ssize_t note(void* self, const char* bytes, std::size_t size) {
    auto* const output = static_cast<NotingOutput*>(self);
    struct sigaction present{};
    ::sigaction(SIGINT, nullptr, &present);
    output->met_default_ = present.sa_handler == SIG_DFL;
    output->text_.assign(bytes, size);
    return static_cast<ssize_t>(size);
  }

  std::FILE* const file_;
  std::string text_;
  bool met_default_ = false;
};

TEST_F(LoadRun, RestoresTheHandlersBeforeItPrintsTheResult) {
  const DefaultSignals defaults;
  options_.cleanup = true;
  NotingOutput out, err;
  EXPECT_EQ(run_load(options_, out.file(), err.file()), 0) << err.text();
  EXPECT_TRUE(err.text().starts_with("total ")) << err.text();
  EXPECT_TRUE(err.met_default());
  EXPECT_NE(out.text().find("\"interrupted\":false,"), std::string::npos) << out.text();
  EXPECT_TRUE(out.met_default());
}

}  // namespace
}  // namespace pawl
