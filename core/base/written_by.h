// SPDX-License-Identifier: Apache-2.0
// WrittenBy: a value that everybody may read and only the named classes may change.
//
//   WrittenBy<bool, Shard> stopping;       if (stopping) ...;    stopping.write() = true;
//   WrittenBy<Directory, Changes> queues;  queues->find(id);     queues.write().put(config);
//                                          everywhere            in the named class
//
// Owner: the structure that parts of a program share. It costs nothing at run time.
#pragma once

#include <utility>

namespace pawl {

template <typename Value, typename Writer, typename SecondWriter = Writer>
class WrittenBy {
 public:
  template <typename... Arguments>
  explicit WrittenBy(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}
  WrittenBy(const WrittenBy&) = delete;
  WrittenBy& operator=(const WrittenBy&) = delete;

  operator const Value&() const { return value_; }
  const Value& operator*() const { return value_; }
  const Value* operator->() const { return &value_; }
  const auto& operator[](auto row) const { return value_[row]; }

 private:
  friend Writer;
  friend SecondWriter;

  Value& write() { return value_; }

  Value value_;
};

}  // namespace pawl
