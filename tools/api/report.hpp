/// Results of a scenario's runs: result files, and the page that compares policies.
///
/// `write_runs` writes a run folder as `vtrain replay --out` does: `jobs.csv`, `summary.json`,
/// `timeline.json` where intervals were recorded, `report.html`, and `run.json`, with which `vtrain replay
/// --spec` repeats it. The folder appears whole or not at all. `scenario_report` is the page alone, one HTML
/// file that works offline; `summary_to_json` gives the figures of `summary.json`.
///
///     auto written = vtrain::write_runs("runs/mine", *scenario, *runs);
///     if (!written) return report(written.error());
///
/// All files but `run.json` are byte-identical when a scenario is run again. docs/results.md describes them.
#pragma once

#include "tools/report/report.hpp"
#include "tools/results/results.hpp"
