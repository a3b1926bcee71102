// SPDX-License-Identifier: Apache-2.0
// QuietSink: a RecordSink that ignores every record; a subclass overrides the kinds it needs.
//
// Owner: values.
#pragma once

#include <cstddef>

#include "wal/format/records.h"

namespace pawl {

class QuietSink : public RecordSink {
 public:
  void send(const StoredMessage&, std::size_t) override {}
  void receive(const ReceiveRecord&) override {}
  void delete_message(const DeleteRecord&) override {}
  void purge(const PurgeRecord&) override {}
  void config(const ConfigRecord&) override {}
  void row(const RowRecord&) override {}
  void head(const HeadRecord&) override {}
  void task(const TaskRecord&) override {}
  void forget_transfer(const ForgetTransferRecord&) override {}
  void number(const NumberRecord&) override {}
  void replay(const ReplayRecord&) override {}
  void checkpoint(const CheckpointRecord&) override {}
  void segment(const SegmentRecord&) override {}
};

}  // namespace pawl
