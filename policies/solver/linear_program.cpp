#include "policies/solver/linear_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace vtrain {
namespace {

void require_program(bool holds, std::string_view kind, std::size_t index, std::string_view rule) {
  if (!holds) throw std::logic_error(fmt::format("linear program: {} {} {}", kind, index, rule));
}

/// `x3`, or `x3_name` with a replacement for every character that the LP format does not allow.
std::string lp_name(char letter, std::size_t index, std::string_view name) {
  constexpr std::size_t kLongest = 200;
  std::string text = fmt::format("{}{}", letter, index);
  if (!name.empty()) text += '_';
  for (const char c : name.substr(0, kLongest)) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    text += is_kept ? c : '_';
  }
  return text;
}

/// A term for rows without terms, because the format requires one.
std::string no_term(const LinearProgram& program) {
  return " 0 " + lp_name('x', 0, program.columns.empty() ? "" : program.columns.front().name);
}

/// Appends terms, a few per line: CPLEX cuts lines of more than 560 characters.
void append_terms(const LinearProgram& program, std::span<const LinearTerm> terms, std::string& to) {
  constexpr std::size_t kPerLine = 4;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (i > 0 && i % kPerLine == 0) to += "\n  ";
    const double coefficient = terms[i].coefficient;
    fmt::format_to(std::back_inserter(to), " {} {} {}", coefficient < 0 ? '-' : '+', std::abs(coefficient),
                   lp_name('x', terms[i].column, program.columns[terms[i].column].name));
  }
}

void append_row(const LinearProgram& program, std::size_t index, std::string& to) {
  const LinearRow& row = program.rows[index];
  const auto append = [&](std::string_view suffix, std::string_view relation, double bound) {
    fmt::format_to(std::back_inserter(to), " {}{}:", lp_name('r', index, row.name), suffix);
    append_terms(program, row.terms, to);
    if (row.terms.empty()) to += no_term(program);
    fmt::format_to(std::back_inserter(to), " {} {}\n", relation, bound);
  };
  if (row.lower == row.upper) {
    append("", "=", row.lower);
    return;
  }
  const bool has_both = std::isfinite(row.lower) && std::isfinite(row.upper);
  if (std::isfinite(row.lower)) append(has_both ? "_low" : "", ">=", row.lower);
  if (std::isfinite(row.upper)) append(has_both ? "_high" : "", "<=", row.upper);
}

std::string lp_bounds(const LinearColumn& column, std::string_view name) {
  if (column.lower == column.upper) return fmt::format(" {} = {}\n", name, column.lower);
  const bool has_lower = std::isfinite(column.lower);
  const bool has_upper = std::isfinite(column.upper);
  if (!has_lower && !has_upper) return fmt::format(" {} free\n", name);
  const std::string lower = has_lower ? fmt::format("{}", column.lower) : "-inf";
  return has_upper ? fmt::format(" {} <= {} <= {}\n", lower, name, column.upper)
                   : fmt::format(" {} >= {}\n", name, lower);
}

}  // namespace

void check_program(const LinearProgram& program) {
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    const LinearColumn& column = program.columns[i];
    require_program(std::isfinite(column.objective), "column", i, "has an objective that is not finite");
    require_program(column.lower < kUnbounded && column.upper > -kUnbounded, "column", i, "has no value");
  }
  // The last row that contains each column, counted from 1.
  std::vector<std::size_t> last_row(program.columns.size(), 0);
  for (std::size_t i = 0; i < program.rows.size(); ++i) {
    const LinearRow& row = program.rows[i];
    require_program(row.lower < kUnbounded && row.upper > -kUnbounded, "row", i, "has no value");
    for (const LinearTerm& term : row.terms) {
      require_program(term.column < program.columns.size(), "row", i, "names a column that is not there");
      require_program(std::isfinite(term.coefficient), "row", i, "has a coefficient that is not finite");
      require_program(last_row[term.column] != i + 1, "row", i, "names a column twice");
      last_row[term.column] = i + 1;
    }
  }
}

double objective_at(const LinearProgram& program, std::span<const double> values) {
  double objective = 0;
  for (std::size_t i = 0; i < program.columns.size(); ++i)
    objective += program.columns[i].objective * values[i];
  return objective;
}

bool is_feasible(const LinearProgram& program, std::span<const double> values, double tolerance) {
  if (values.size() != program.columns.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const LinearColumn& column = program.columns[i];
    if (!(values[i] >= column.lower - tolerance && values[i] <= column.upper + tolerance)) return false;
    if (column.is_integer && std::abs(values[i] - std::round(values[i])) > tolerance) return false;
  }
  return std::all_of(program.rows.begin(), program.rows.end(), [&](const LinearRow& row) {
    double sum = 0;
    double scale = 1;
    for (const LinearTerm& term : row.terms) {
      const double part = term.coefficient * values[term.column];
      sum += part;
      scale = std::max(scale, std::abs(part));
    }
    return sum >= row.lower - tolerance * scale && sum <= row.upper + tolerance * scale;
  });
}

std::string to_lp_format(const LinearProgram& program) {
  check_program(program);
  std::string text = program.maximize ? "Maximize\n objective:" : "Minimize\n objective:";
  std::vector<LinearTerm> objective;
  std::string bounds;
  std::string integers;
  for (std::size_t i = 0; i < program.columns.size(); ++i) {
    const LinearColumn& column = program.columns[i];
    // The objective contains every column, so that one without rows is known.
    objective.push_back({i, column.objective});
    const std::string name = lp_name('x', i, column.name);
    bounds += lp_bounds(column, name);
    if (column.is_integer) integers += fmt::format(" {}\n", name);
  }
  append_terms(program, objective, text);
  if (program.columns.empty()) text += no_term(program);
  text += "\nSubject To\n";
  const std::size_t without_rows = text.size();
  for (std::size_t i = 0; i < program.rows.size(); ++i)
    append_row(program, i, text);
  // A program must have a row.
  if (text.size() == without_rows) text += fmt::format(" none:{} <= 0\n", no_term(program));
  text += "Bounds\n" + bounds;
  if (!integers.empty()) text += "Generals\n" + integers;
  return text + "End\n";
}

}  // namespace vtrain
