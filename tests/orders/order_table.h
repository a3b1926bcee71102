// SPDX-License-Identifier: Apache-2.0
// The memory orders of a piece of real code, with the fault that each weaker one causes.
//
// A row names a Site, its order and the fault. A site that is relaxed has no weaker order; the text
// of its row is the reason. A read-modify-write has a second fault: that of a load and a store in
// its place.
//
// expect_orders() runs programs that together use every site of a source file. It expects no fault
// in the code as it is, one row for each site, and the row's fault for each order that is one step
// weaker.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/orders/explorer.h"

namespace pawl::orders {

struct OrderRow {
  const char* site;
  std::memory_order order;
  const char* fault;                  // when weakened; or the reason for relaxed
  const char* split_fault = nullptr;  // as a load and a store
};

using Programs = std::vector<std::function<void(Program&)>>;

inline std::vector<std::memory_order> weaker(std::memory_order order,
                                             const std::string& operation) {
  switch (order) {
    case std::memory_order_relaxed:
      return {};
    case std::memory_order_acq_rel:
      return {std::memory_order_acquire, std::memory_order_release};
    case std::memory_order_seq_cst:
      return {operation == "load"    ? std::memory_order_acquire
              : operation == "store" ? std::memory_order_release
                                     : std::memory_order_acq_rel};
    default:
      return {std::memory_order_relaxed};
  }
}

class OrderTable {
 public:
  OrderTable(std::string file, Programs programs, const std::vector<OrderRow>& rows)
      : file_(std::move(file)), programs_(std::move(programs)) {
    for (const OrderRow& row : rows) rows_.emplace(row.site, row);
  }

  void expect_orders() {
    const std::vector<Site> sites = strong_sites();
    EXPECT_EQ(sites.size(), rows_.size()) << "a row of no site, or a site without a row";
    for (const Site& site : sites) {
      const auto row = rows_.find(site.name());
      ASSERT_NE(row, rows_.end()) << site.name();
      EXPECT_EQ(name_of(site.order), name_of(row->second.order)) << site.name();
      for (const std::memory_order order : weaker(site.order, site.operation))
        expect_fault({.site = site, .order = order}, row->second.fault);
      if (row->second.split_fault != nullptr)
        expect_fault({.site = site, .order = site.order, .split = true}, row->second.split_fault);
    }
    std::printf("%zu sites: %llu runs of %llu steps as they are; %zu weakened: %llu runs\n",
                sites.size(), strong_.runs, strong_.steps, weakenings_, weak_.runs);
  }

 private:
  struct Count {
    unsigned long long runs = 0, steps = 0;
    void add(const Report& report) {
      runs += report.runs;
      steps += report.steps;
    }
  };

  std::vector<Site> strong_sites() {
    std::vector<Site> sites;
    for (const auto& program : programs_) {
      const Report report = explore(program);
      EXPECT_EQ(report.fault, "");
      strong_.add(report);
      for (const Site& site : report.sites) {
        const auto same = [&](const Site& other) {
          return other.line == site.line && other.column == site.column &&
                 other.operation == site.operation;
        };
        if (std::string(site.file).ends_with(file_) && std::ranges::none_of(sites, same))
          sites.push_back(site);
      }
    }
    number(sites);
    return sites;
  }

  // Expects that a program finds it.
  void expect_fault(const Weakening& weakening, const std::string& fault) {
    ++weakenings_;
    std::string found = "none";
    for (const auto& program : programs_) {
      const Report report = explore(program, weakening);
      weak_.add(report);
      if (!report.fault.empty()) found = report.fault;
      if (found == fault) return;
    }
    ADD_FAILURE() << weakening.site.name() << (weakening.split ? " split" : " weakened to ")
                  << (weakening.split ? "" : name_of(weakening.order)) << ": " << found << ", not "
                  << fault;
  }

  std::string file_;
  Programs programs_;
  std::map<std::string, OrderRow> rows_;
  Count strong_, weak_;
  std::size_t weakenings_ = 0;
};

}  // namespace pawl::orders
