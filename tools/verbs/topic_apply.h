// SPDX-License-Identifier: Apache-2.0
// TopicPlan: the declared topics and subscriptions of a file, and what an SNS endpoint lacks of
// them.
//
//   TopicPlan plan(std::move(client));
//   if (int code = plan.compare(rows); code != exit_ok) return code;
//   return plan.carry_out();
//
// Topics, subscriptions, attributes and tags that the file does not name stay.
//
// Errors: to stderr, with the place in the file; the functions return the exit code of the verb.
// Owner:  one verb. The rows must live as long as the plan.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/sqs_client/query_body.h"
#include "net/sqs_client/sqs_client.h"
#include "proto/declared/declared_rows.h"
#include "tools/verbs/topic_calls.h"

namespace pawl {

struct PlannedTopic {
  const DeclaredRow* row = nullptr;
  std::string arn;  // of the topic or the subscription; empty: it does not exist yet
  bool is_new = false;
  sqs_client::QueryBody::Pairs attributes, tags;  // to be set
  std::vector<std::string> changes;               // "NAME: OLD -> NEW"

  bool is_subscription() const { return row->kind == DeclaredKind::subscription; }
};

class TopicPlan {
 public:
  explicit TopicPlan(sqs_client::SqsClient client) : client_(std::move(client)) {}

  // Without a topic or subscription among the rows it calls nothing.
  int compare(const DeclaredRows& rows);
  int carry_out();
  const std::vector<PlannedTopic>& planned() const { return planned_; }

 private:
  int compare_topic(PlannedTopic& planned);
  int compare_tags(PlannedTopic& planned);
  int compare_subscription(PlannedTopic& planned, const DeclaredRows& rows);
  int compare_attributes(PlannedTopic& planned, std::string_view action,
                         std::string_view parameter);
  int make(PlannedTopic& planned);
  int change(const PlannedTopic& planned);
  int call(const PlannedTopic& planned, std::string_view action, const sqs_client::QueryBody& body,
           std::string_view path = {}, std::string* text = nullptr);

  sqs_client::SqsClient client_;
  std::map<std::string, std::string> arns_;  // of the topics, by name
  std::vector<PlannedTopic> planned_;        // topics first
};

}  // namespace pawl
