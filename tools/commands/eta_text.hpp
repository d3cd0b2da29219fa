/// The answer of `vtrain eta` for people, and as a page.
#pragma once

#include <string>

#include "tools/live/eta_report.hpp"
#include "tools/report/eta_page.hpp"

namespace vtrain {

/// The answer in one sentence, then a table. `is_of_one_job`: with the changes that help it.
std::string eta_text(const EtaReport& estimate, bool is_of_one_job);
/// The page of the answer, without the names of files.
EtaPageInput eta_page(const EtaReport& estimate);

}  // namespace vtrain
