// SPDX-License-Identifier: Apache-2.0
// ModelMemory: the memory of an Explorer in place of StdMemory (spsc.h), for the real code.
//
// Owner: the program that runs in the current Explorer.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>

#include "tests/orders/explorer.h"

namespace pawl::orders {

// As std::atomic, but each operation names its order.
template <typename T>
class ModelAtomic {
 public:
  using Where = std::source_location;

  ModelAtomic(T value = T{}) : location_(explorer().memory().add(bits(value))) {}
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(std::memory_order order, const Where& where = Where::current()) const {
    order = explorer().order_at("load", order, where);
    begin(Explorer::Step::Kind::load, order);
    return T(explorer().memory().load(explorer().thread(), location_, order));
  }
  void store(T value, std::memory_order order, const Where& where = Where::current()) {
    order = explorer().order_at("store", order, where);
    begin(Explorer::Step::Kind::write, order);
    explorer().memory().store(explorer().thread(), location_, bits(value), order);
  }
  T exchange(T value, std::memory_order order, const Where& where = Where::current()) {
    return modify("exchange", [value](std::uint64_t) { return bits(value); }, order, where);
  }
  T fetch_or(T value, std::memory_order order, const Where& where = Where::current()) {
    return modify(
        "fetch_or", [value](std::uint64_t old) { return old | bits(value); }, order, where);
  }
  T fetch_add(T value, std::memory_order order, const Where& where = Where::current()) {
    return modify(
        "fetch_add", [value](std::uint64_t old) { return old + bits(value); }, order, where);
  }

 private:
  static Explorer& explorer() { return Explorer::current(); }
  static std::uint64_t bits(T value) { return static_cast<std::uint64_t>(value); }

  void begin(Explorer::Step::Kind kind, std::memory_order order) const {
    explorer().begin(
        {.kind = kind, .location = location_, .sequential = order == std::memory_order_seq_cst});
  }
  template <typename Change>
  T modify(const char* operation, const Change& change, std::memory_order order,
           const Where& where) {
    order = explorer().order_at(operation, order, where);
    if (explorer().is_split(operation, where)) {
      begin(Explorer::Step::Kind::load, order);
      const std::uint64_t old =
          explorer().memory().load(explorer().thread(), location_, std::memory_order_relaxed);
      begin(Explorer::Step::Kind::write, order);
      explorer().memory().store(explorer().thread(), location_, change(old), order);
      return T(old);
    }
    begin(Explorer::Step::Kind::write, order);
    return T(explorer().memory().modify(explorer().thread(), location_, change, order));
  }

  std::size_t location_;
};

// An object that is not atomic.
template <typename T>
class ModelPlain {
 public:
  ModelPlain& operator=(const T& value) {
    Explorer& explorer = Explorer::current();
    if (!explorer.memory().write(explorer.thread(), accesses_))
      explorer.fail("a data race: a write beside another access");
    value_ = value;
    return *this;
  }
  operator T() const {
    Explorer& explorer = Explorer::current();
    if (!explorer.memory().read(explorer.thread(), accesses_))
      explorer.fail("a data race: a read beside a write");
    return value_;
  }

 private:
  T value_{};
  mutable Accesses accesses_;
};

inline void model_fence(std::memory_order order,
                        const std::source_location& where = std::source_location::current()) {
  Explorer& explorer = Explorer::current();
  order = explorer.order_at("fence", order, where);
  explorer.begin(
      {.kind = Explorer::Step::Kind::fence, .sequential = order == std::memory_order_seq_cst});
  explorer.memory().fence(explorer.thread(), order);
}

struct ModelMemory {
  template <typename T>
  using Atomic = ModelAtomic<T>;
  template <typename T>
  using Plain = ModelPlain<T>;
};

}  // namespace pawl::orders
