// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "proto/http/parser.h"
#include "proto/sqs/actions.h"
#include "proto/sqs/state.h"
#include "proto/text/json.h"
#include "proto/text/text.h"
#include "proto/text/xml.h"

namespace pawl {
namespace {

constexpr std::string_view json_type = "application/x-amz-json-1.0";
constexpr std::string_view query_json_type = "application/json";
constexpr std::string_view xml_namespace = " xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">";

// <ActionResponse><ActionResult>...</ActionResult><ResponseMetadata>...
void append_xml_result(SqsState& s, std::string& body) {
  const std::string_view name = info(s.action).name;
  const auto tag = [&](std::string_view open, std::string_view kind, std::string_view close) {
    body.append(open).append(name).append(kind).append(close);
  };
  body += xml_declaration;
  tag("<", "Response", xml_namespace);
  if (const auto write = handler(s.action).result; write != nullptr) {
    tag("<", "Result", ">");
    const std::size_t start = body.size();
    SqsResult result(body, SqsForm::xml);
    write(s, result);
    if (body.size() == start) {
      body.replace(start - 1, 1, "/>");
    } else {
      tag("</", "Result", ">");
    }
  }
  XmlWriter xml(body);
  xml.open("ResponseMetadata");
  xml.element("RequestId", s.request_id_text());
  xml.close("ResponseMetadata");
  tag("</", "Response", ">");
}

void append_json_result(SqsState& s, std::string& body) {
  const auto write = handler(s.action).result;
  if (write == nullptr) return;  // AWS also sends no body for such actions
  JsonWriter json(body);
  json.begin_object();
  SqsResult result(body, SqsForm::json);
  write(s, result);
  json.end_object();
}

// {"ActionResponse":{"ActionResult":{...},"ResponseMetadata":{...}}}
void append_query_json_result(SqsState& s, std::string& body) {
  const std::string name(info(s.action).name);
  JsonWriter json(body);
  json.begin_object();
  json.key(name + "Response");
  json.begin_object();
  if (const auto write = handler(s.action).result; write != nullptr) {
    json.key(name + "Result");
    json.begin_object();
    SqsResult result(body, SqsForm::query_json);
    write(s, result);
    json.end_object();
  }
  json.key("ResponseMetadata");
  json.begin_object();
  json.member("RequestId", s.request_id_text());
  json.end_object();
  json.end_object();
  json.end_object();
}

// The error text for Query, where AWS words one error differently.
std::string_view query_text(const Refusal& refusal) {
  const bool no_queue = refusal.fault == SqsFault::queue_does_not_exist;
  return no_queue ? std::string_view("The specified queue does not exist for this wsdl version.")
                  : refusal.text;
}

void append_xml_error(const SqsState& s, const SqsFaultInfo& fault, std::string& body) {
  body += xml_declaration;
  body += "<ErrorResponse";
  body += xml_namespace;
  XmlWriter xml(body);
  xml.open("Error");
  xml.element("Type", fault.sender ? "Sender" : "Receiver");
  xml.element("Code", fault.code);
  xml.element("Message", query_text(s.refusal));
  xml.empty("Detail");
  xml.close("Error");
  xml.element("RequestId", s.request_id_text());
  xml.close("ErrorResponse");
}

void append_json_error(const SqsState& s, const SqsFaultInfo& fault, std::string& body) {
  JsonWriter json(body);
  json.begin_object();
  json.member("__type", fault.shape);
  json.member("message", std::string_view(s.refusal.text));
  json.end_object();
}

void append_query_json_error(const SqsState& s, const SqsFaultInfo& fault, std::string& body) {
  JsonWriter json(body);
  json.begin_object();
  json.key("Error");
  json.begin_object();
  json.member("Code", fault.code);
  json.member("Message", query_text(s.refusal));
  json.end_object();
  json.member("RequestId", s.request_id_text());
  json.end_object();
}

SqsForm form_of(const SqsState& s) {
  if (s.protocol == SqsProtocol::json) return SqsForm::json;
  return s.accepts_json ? SqsForm::query_json : SqsForm::xml;
}

void append_error(const SqsState& s, const SqsFaultInfo& fault, std::string& body) {
  switch (form_of(s)) {
    case SqsForm::json:
      return append_json_error(s, fault, body);
    case SqsForm::xml:
      return append_xml_error(s, fault, body);
    case SqsForm::query_json:
    case SqsForm::tree:
      return append_query_json_error(s, fault, body);
  }
}

void make_texts_printable(SqsState& s) {
  make_printable(s.refusal.text);
  const std::size_t entries = std::min(s.entries.size(), s.input.entries.size());
  for (std::size_t i = 0; i < entries; ++i) make_printable(s.entries[i].refusal.text);
}

}  // namespace

SqsHeaders::SqsHeaders(const SqsState& s) {
  if (!s.refusal) {
    // The durability of a send or delete.
    if (s.request.op != Op::send && s.request.op != Op::delete_message) return;
    headers[count++] = {"x-pawl-durability",
                        durability_words[static_cast<std::size_t>(s.request.durability)]};
    if (s.request.op != Op::delete_message) return;
    cancels = sqs::cancel_header(s);
    if (!cancels.empty()) headers[count++] = {"x-pawl-cancel", cancels};
    return;
  }
  const SqsFaultInfo& fault = info(s.refusal.fault);
  if (s.protocol == SqsProtocol::json) {
    query_error.append(fault.code).append(fault.sender ? ";Sender" : ";Receiver");
    headers[count++] = {"x-amzn-query-error", query_error};
  }
  if (s.refusal.retry_ms == 0) return;
  seconds = std::to_string((s.refusal.retry_ms + 999) / 1000);
  milliseconds = std::to_string(s.refusal.retry_ms);
  headers[count++] = {"Retry-After", seconds};
  headers[count++] = {"x-amz-retry-after", milliseconds};
}

std::string_view content_type(const SqsState& s) {
  switch (form_of(s)) {
    case SqsForm::json:
      return json_type;
    case SqsForm::xml:
      return xml_type;
    case SqsForm::query_json:
    case SqsForm::tree:
      return query_json_type;
  }
  return {};
}

std::uint16_t status_of(const SqsState& s) {
  if (!s.refusal) return 200;
  const std::uint16_t status = info(s.refusal.fault).status;
  // A JSON client without x-amzn-query-mode gets 400 instead of the old statuses 403 and 404.
  const bool old_status = status == 403 || status == 404;
  return s.protocol == SqsProtocol::json && old_status && !s.query_mode ? 400 : status;
}

void write_result(SqsState& s, std::string& out) {
  switch (form_of(s)) {
    case SqsForm::json:
      return append_json_result(s, out);
    case SqsForm::xml:
      return append_xml_result(s, out);
    case SqsForm::query_json:
    case SqsForm::tree:
      return append_query_json_result(s, out);
  }
}

std::string_view write_body(SqsState& s, std::string& out) {
  make_texts_printable(s);
  if (s.refusal) {
    append_error(s, info(s.refusal.fault), out);
  } else if (s.result.empty()) {
    write_result(s, out);
  } else {
    return s.result;
  }
  return out;
}

}  // namespace pawl
