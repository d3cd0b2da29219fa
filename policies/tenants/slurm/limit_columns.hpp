/// Limits in the columns of sacctmgr's tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"
#include "policies/tenants/slurm/table_text.hpp"

namespace vtrain::slurm {

/// Reads limits of one row. The first error is remembered; later calls do nothing.
class LimitColumns {
 public:
  /// Both outlive it.
  LimitColumns(const TableText& row, TresNames& names) : row_(row), names_(names) {}

  /// Reads a list of resources.
  void tres(std::string_view column, TresList& to) {
    take(column, parse_tres_list(row_[column], names_), to);
  }
  /// Reads a number.
  void count(std::string_view column, std::optional<std::int64_t>& to) {
    take(column, parse_limit(row_[column]), to);
  }
  /// Reads a time in minutes.
  void minutes(std::string_view column, std::optional<std::int64_t>& to) {
    if (!row_[column].empty()) take(column, parse_slurm_minutes(row_[column]), to);
  }
  /// Reads the limits that associations and QOS have in columns of the same names.
  void shared_limits(Limits& limits) {
    tres("GrpTRES", limits.group_tres);
    tres("GrpTRESMins", limits.group_tres_minutes);
    tres("GrpTRESRunMins", limits.group_tres_run_minutes);
    count("GrpJobs", limits.group_jobs);
    count("GrpSubmit", limits.group_submit);
    minutes("GrpWall", limits.group_wall_minutes);
    tres("MaxTRES", limits.max_tres);
    tres("MaxTRESPerNode", limits.max_tres_per_node);
    tres("MaxTRESMins", limits.max_tres_minutes);
    minutes("MaxWall", limits.max_wall_minutes);
  }
  /// The first error, if any.
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  void take(std::string_view column, Result<T>&& value, T& to) {
    if (error_) return;
    if (value)
      to = *std::move(value);
    else
      error_ = row_.error_at(column, value.error().message);
  }

  const TableText& row_;
  TresNames& names_;
  std::optional<Error> error_;
};

}  // namespace vtrain::slurm
