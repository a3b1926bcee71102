// SPDX-License-Identifier: Apache-2.0
#include "tests/orders/explorer.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define PAWL_FIBERS_FOR_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PAWL_FIBERS_FOR_ASAN
#endif
#endif
#ifdef PAWL_FIBERS_FOR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace pawl::orders {
namespace {

constexpr std::uint64_t steps_max = 2000;  // of a run
constexpr std::size_t stack_bytes = 256 << 10;

struct GivenUp {};  // ends a thread whose run is not completed

Explorer* explorer = nullptr;

// "publish" of "void pawl::SpscRing<T, capacity, Memory>::publish() [with ...]".
std::string function_of(std::string_view text) {
  text = text.substr(0, text.find('('));
  const std::size_t begin = text.find_last_of(": ");
  return std::string(begin == text.npos ? text : text.substr(begin + 1));
}

bool is_at(const Site& site, const char* operation, const std::source_location& where) {
  return site.line == where.line() && site.column == where.column() &&
         site.operation == operation && std::string_view(site.file) == where.file_name();
}

bool commute(const Explorer::Step& a, const Explorer::Step& b) {
  using Kind = Explorer::Step::Kind;
  if (a.sequential && b.sequential) return false;
  if (a.kind == Kind::fence || b.kind == Kind::fence) return true;
  return a.location != b.location || (a.kind == Kind::load && b.kind == Kind::load);
}

}  // namespace

struct Explorer::Fiber {
  ucontext_t context{};
  std::vector<char> stack;
  std::function<void()> body;
  Step next;  // announced, not taken
  bool ended = false;
  void* fake_stack = nullptr;         // of AddressSanitizer
  const void* stack_begin = nullptr;  // of the main thread, as AddressSanitizer knows it
  std::size_t stack_size = 0;
};

std::string Site::name() const {
  return function + " " + operation + (number == 1 ? "" : " " + std::to_string(number));
}

void number(std::vector<Site>& sites) {
  const auto key = [](const Site& site) {
    return std::tie(site.function, site.operation, site.line, site.column);
  };
  std::ranges::sort(sites, {}, key);
  for (std::size_t i = 1; i < sites.size(); ++i) {
    const bool same =
        sites[i].function == sites[i - 1].function && sites[i].operation == sites[i - 1].operation;
    sites[i].number = same ? sites[i - 1].number + 1 : 1;
  }
}

std::string name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}

Report explore(const std::function<void(Program&)>& make,
               const std::optional<Weakening>& weakening) {
  return Explorer(weakening).explore(make);
}

void require(bool right, const char* fault) {
  if (!right) Explorer::current().fail(fault);
}

Bell::Bell() : location_(Explorer::current().memory().add(0)) {}

void Bell::ring() {
  Explorer::current().begin({.kind = Explorer::Step::Kind::write, .location = location_});
  ++count_;
}

void Bell::wait() {
  Explorer::current().begin(
      {.kind = Explorer::Step::Kind::wait, .location = location_, .count = &count_});
  count_ = 0;
}

// --- the runs ------------------------------------------------------------------------------------

Explorer& Explorer::current() {
  CHECK(explorer != nullptr, "an object of the model is used outside of explore()");
  return *explorer;
}

Explorer::Explorer(const std::optional<Weakening>& weakening) : weakening_(weakening) {
  CHECK(explorer == nullptr, "explorations are not nested");
  explorer = this;
  for (std::size_t i = 0; i < threads_max; ++i) fibers_.push_back(std::make_unique<Fiber>());
  for (std::size_t i = 1; i < threads_max; ++i) fibers_[i]->stack.resize(stack_bytes);
}

Explorer::~Explorer() { explorer = nullptr; }

Report Explorer::explore(const std::function<void(Program&)>& make) {
  do {
    run(make);
    ++report_.runs;
    report_.steps += run_steps_;
  } while (report_.fault.empty() && next_path());
  number(report_.sites);
  return report_;
}

// Goes on to the next path of choices, depth first.
bool Explorer::next_path() {
  while (!path_.empty() && path_.back().at + 1 == path_.back().options.size()) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().at;
  return true;
}

void Explorer::run(const std::function<void(Program&)>& make) {
  depth_ = 0;
  running_ = 0;
  begun_ = 0;
  sleeping_ = 0;
  run_steps_ = 0;
  given_up_ = false;
  memory_ = std::make_unique<SharedMemory>([this](std::size_t count) { return choose(count); });
  program_ = std::make_unique<Program>();
  make(*program_);
  try {
    run_threads();
    if (program_->end && !given_up_) program_->end();
  } catch (const GivenUp&) {
    given_up_ = true;
  }
  program_.reset();
}

void Explorer::run_threads() {
  CHECK(program_->threads.size() < threads_max, "{} threads", program_->threads.size());
  memory_->begin_threads();
  begun_ = program_->threads.size();
  for (std::size_t i = 1; i <= begun_; ++i) {
    Fiber& fiber = *fibers_[i];
    fiber.body = program_->threads[i - 1];
    fiber.ended = false;
    fiber.next = {};
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    // makecontext() passes on numbers of type int only.
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(fiber_body), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    resume(i);
  }
  while (!given_up_ && choose_thread()) {
  }
  if (given_up_) give_up();
  begun_ = 0;
  memory_->join_threads();
}

// Ends the threads of a run that is not completed.
void Explorer::give_up() {
  given_up_ = true;
  for (std::size_t i = 1; i <= begun_; ++i) {
    if (!fibers_[i]->ended) resume(i);
    CHECK(fibers_[i]->ended, "thread {} goes on", i);
  }
}

// --- the choices ---------------------------------------------------------------------------------

std::size_t Explorer::choose(std::size_t count) {
  CHECK(count > 0 && count <= 255, "{}", count);
  if (count == 1) return 0;
  if (depth_ == path_.size()) {
    Choice choice;
    for (std::size_t i = 0; i < count; ++i) choice.options.push_back(static_cast<std::uint8_t>(i));
    path_.push_back(std::move(choice));
  }
  const Choice& choice = path_[depth_++];
  CHECK(choice.options.size() == count, "a program differs from run to run");
  return choice.options[choice.at];
}

bool Explorer::is_enabled(std::size_t thread) const {
  const Fiber& fiber = *fibers_[thread];
  return !fiber.ended && (fiber.next.count == nullptr || *fiber.next.count > 0);
}

// Takes the next step of a thread. False: all have ended, or the run is given up.
bool Explorer::choose_thread() {
  bool ended = true, enabled = false;
  std::vector<std::uint8_t> candidates;
  for (std::size_t i = 1; i <= begun_; ++i) {
    ended = ended && fibers_[i]->ended;
    if (!is_enabled(i)) continue;
    enabled = true;
    if ((sleeping_ & (1U << i)) == 0) candidates.push_back(static_cast<std::uint8_t>(i));
  }
  if (ended) return false;
  if (!enabled) report_.fault = "a lost wake-up: every thread waits";
  if (++run_steps_ > steps_max) report_.fault = "a thread does not end";
  // Without a candidate, another run has completed this one with its steps in another order.
  given_up_ = candidates.empty() || !report_.fault.empty();
  if (given_up_) return false;
  if (depth_ == path_.size()) path_.push_back({.options = candidates});
  const Choice& choice = path_[depth_++];
  CHECK(choice.options == candidates, "a program differs from run to run");
  const std::size_t thread = choice.options[choice.at];
  for (std::size_t i = 0; i < choice.at; ++i) sleeping_ |= 1U << choice.options[i];
  for (std::size_t i = 1; i <= begun_; ++i) {
    if (!commute(fibers_[i]->next, fibers_[thread]->next)) sleeping_ &= ~(1U << i);
  }
  resume(thread);
  return true;
}

// --- the threads ---------------------------------------------------------------------------------

void Explorer::begin(const Step& step) {
  if (begun_ == 0) return;  // the main thread, alone
  fibers_[running_]->next = step;
  suspend();
  if (given_up_) throw GivenUp();
}

void Explorer::fail(const std::string& fault) {
  if (report_.fault.empty()) report_.fault = fault;
  given_up_ = true;
  throw GivenUp();
}

void Explorer::resume(std::size_t thread) {
  Fiber &main = *fibers_[0], &fiber = *fibers_[thread];
  running_ = thread;
#ifdef PAWL_FIBERS_FOR_ASAN
  __sanitizer_start_switch_fiber(&main.fake_stack, fiber.stack.data(), fiber.stack.size());
#endif
  swapcontext(&main.context, &fiber.context);
#ifdef PAWL_FIBERS_FOR_ASAN
  __sanitizer_finish_switch_fiber(main.fake_stack, nullptr, nullptr);
#endif
  running_ = 0;
}

void Explorer::suspend() {
  Fiber &main = *fibers_[0], &fiber = *fibers_[running_];
#ifdef PAWL_FIBERS_FOR_ASAN
  __sanitizer_start_switch_fiber(fiber.ended ? nullptr : &fiber.fake_stack, main.stack_begin,
                                 main.stack_size);
#endif
  swapcontext(&fiber.context, &main.context);
#ifdef PAWL_FIBERS_FOR_ASAN
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &main.stack_begin, &main.stack_size);
#endif
}

void Explorer::fiber_body(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Explorer*>((std::uintptr_t{high} << 32) | low);
#ifdef PAWL_FIBERS_FOR_ASAN
  Fiber& main = *self->fibers_[0];
  __sanitizer_finish_switch_fiber(nullptr, &main.stack_begin, &main.stack_size);
#endif
  Fiber& fiber = *self->fibers_[self->running_];
  try {
    fiber.body();
  } catch (const GivenUp&) {
    self->given_up_ = true;
  }
  fiber.body = nullptr;
  fiber.ended = true;
  fiber.next = {};
  self->suspend();
  CHECK(false, "a thread that has ended goes on");
}

// --- the sites -----------------------------------------------------------------------------------

std::memory_order Explorer::order_at(const char* operation, std::memory_order order,
                                     const std::source_location& where) {
  const auto known = std::ranges::find_if(
      report_.sites, [&](const Site& site) { return is_at(site, operation, where); });
  if (known == report_.sites.end()) {
    report_.sites.push_back({.function = function_of(where.function_name()),
                             .operation = operation,
                             .order = order,
                             .file = where.file_name(),
                             .line = where.line(),
                             .column = where.column()});
  }
  return weakening_ && is_at(weakening_->site, operation, where) ? weakening_->order : order;
}

bool Explorer::is_split(const char* operation, const std::source_location& where) const {
  return weakening_ && weakening_->split && is_at(weakening_->site, operation, where);
}

}  // namespace pawl::orders
