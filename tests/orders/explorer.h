// SPDX-License-Identifier: Apache-2.0
// Explorer: runs a small program of several threads in every order of its steps. Its loads return
// every possible value. The first fault is reported.
//
//   explore(program) -> run, run, ... until no choice is left -> Report
//   a run: the program makes its objects and threads -> the threads' steps -> at_end()
//
// A step is an operation on an atomic object (model.h) with the code up to the next one. Two steps
// commute unless they use one location and write it, or both are sequentially consistent. If runs
// differ only in the order of steps that commute, one is completed (sleep sets). A run is repeated
// by the list of its choices, so nothing else may differ from run to run.
//
// A program may be run with one of its memory orders weakened. A place in the source that operates
// on an atomic object is a Site; its function, operation and number in that function name it.
//
// Faults: a data race, a failed require(), threads that all wait (a lost wake-up), a thread that
//         does not end within steps_max.
// Limits: threads_max - 1 threads. They end by an exception when a run is given up.
// Owner:  one program runs at a time, in Explorer::current().
// Source: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tests/orders/shared_memory.h"

namespace pawl::orders {

struct Site {
  std::string function;
  std::string operation;  // load, store, exchange, ...
  int number = 1;         // among those of its function and operation
  std::memory_order order{};
  const char* file = "";
  std::uint32_t line = 0, column = 0;

  std::string name() const;  // "try_sleep exchange 2"
};
std::string name_of(std::memory_order order);
// Numbers the sites of the same function and operation in the order of the source.
void number(std::vector<Site>& sites);

struct Weakening {
  Site site;
  std::memory_order order{};
  bool split = false;  // the read-modify-write becomes a load and a store
};

struct Report {
  std::uint64_t runs = 0, steps = 0;
  std::string fault;  // of the last run; empty: there is none
  std::vector<Site> sites;
};

class Program {
 public:
  void thread(std::function<void()> body) { threads.push_back(std::move(body)); }
  void at_end(std::function<void()> body) { end = std::move(body); }

  std::vector<std::function<void()>> threads;
  std::function<void()> end;
};

Report explore(const std::function<void(Program&)>& make,
               const std::optional<Weakening>& weakening = {});

// A fault of the current run unless `right`.
void require(bool right, const char* fault);

// A count that threads wait for. It passes on no knowledge: it stands for the kernel, of which
// nothing is assumed but that it wakes.
class Bell {
 public:
  Bell();
  void ring();
  void wait();

 private:
  std::size_t location_;
  int count_ = 0;
};

class Explorer {
 public:
  struct Step {
    enum class Kind : std::uint8_t { load, write, fence, wait, none };
    Kind kind = Kind::none;
    std::size_t location = 0;
    bool sequential = false;     // seq_cst
    const int* count = nullptr;  // a wait: enabled while it is positive
  };

  static Explorer& current();

  explicit Explorer(const std::optional<Weakening>& weakening);
  ~Explorer();
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;
  Report explore(const std::function<void(Program&)>& make);

  // --- for the objects of model.h ---
  SharedMemory& memory() { return *memory_; }
  std::size_t thread() const { return running_; }
  // Announces a step of the running thread, and returns when it is its turn.
  void begin(const Step& step);
  // The order of an operation at its place in the source, weakened if it is that site.
  std::memory_order order_at(const char* operation, std::memory_order order,
                             const std::source_location& where);
  bool is_split(const char* operation, const std::source_location& where) const;
  [[noreturn]] void fail(const std::string& fault);

 private:
  struct Choice {
    std::vector<std::uint8_t> options;
    std::size_t at = 0;
  };
  struct Fiber;

  void run(const std::function<void(Program&)>& make);
  void run_threads();
  void give_up();
  bool next_path();
  std::size_t choose(std::size_t count);
  bool choose_thread();
  bool is_enabled(std::size_t thread) const;
  void resume(std::size_t thread);
  void suspend();
  static void fiber_body(unsigned high, unsigned low);

  std::optional<Weakening> weakening_;
  Report report_;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;  // choices of the current run

  // --- the current run ---
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // [0] is the main thread
  std::size_t running_ = 0;
  std::size_t begun_ = 0;       // threads of the program; 0: before and after them
  std::uint32_t sleeping_ = 0;  // the sleep set, a bit for each thread
  std::uint64_t run_steps_ = 0;
  bool given_up_ = false;
};

}  // namespace pawl::orders
