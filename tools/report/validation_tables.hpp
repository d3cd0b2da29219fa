/// Simulated waits against recorded ones: the answer, tables for terminal and page, and the page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/experiment/schedule_validation.hpp"

namespace vtrain {

/// The answer in a few sentences: how near the nearest policy is, and what follows from that.
std::string validation_answer(const ScheduleValidation& validation);

/// Lines on the jobs that are not compared, for a terminal; empty if all are compared.
std::string left_out_lines(const ScheduleValidation& validation);

/// A row for each policy, and a row for each group and policy, for a terminal.
std::string validation_table_text(const ScheduleValidation& validation);

/// Further texts of the page. They may hold any bytes.
struct ValidationPage {
  std::string trace_name{};
  std::string facts{};
  std::vector<std::string> assumptions{};
  std::vector<std::pair<std::string, std::string>> provenance{};
};

/// The page: the answer, pictures of the GPUs in use, and the tables.
std::string validation_report(const ScheduleValidation& validation, const ValidationPage& page);

}  // namespace vtrain
