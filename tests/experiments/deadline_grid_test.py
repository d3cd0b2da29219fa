"""The grid of deadline policies: how it cuts traces and judges cells, and what it says of the generated day."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).parents[2] / "tools/experiments/deadlines/deadline_grid.py"
TRACES = pathlib.Path(__file__).parents[3] / "shared/data/traces"
spec = importlib.util.spec_from_file_location("deadline_grid", SCRIPT)
grid = importlib.util.module_from_spec(spec)
spec.loader.exec_module(grid)


class Parts(unittest.TestCase):
    def test_fortnights(self):
        day = grid.DAY
        jobs = [(0, 5.0), (3 * day, 1.0), (16 * day, 7.0), (17 * day, 2.0)]
        # Days 3 to 16 have 8 GPU-seconds, days 4 to 17 have 9.
        self.assertEqual(grid.works_of_fortnights(jobs), [6.0, 1.0, 1.0, 8.0, 9.0])
        self.assertEqual(grid.busiest(jobs), 4)
        self.assertEqual(grid.first_full([(0, 1.0), (day, 1e15)]), 0)

    def test_a_cell_is_lost_to_a_policy_that_is_better_by_both_measures(self):
        cell = ("day", "none", "count", "1:2")
        rows = {(*cell, "1", "deadline"): (0.9, 0.5), (*cell, "1", "better"): (0.93, 0.53), (*cell, "1", "half"): (1, 0.51)}
        text = grid.table(rows, [cell], ("better", "half", "deadline"), ["1"])
        self.assertIn("| day | none | count | 1:2 | 93.0 / 53.0 | 100.0 / 51.0 | 90.0 / 50.0 | better |", text)
        self.assertIn("1 cells", text)


class Run(unittest.TestCase):
    def run_grid(self, folder, *more):
        command = [sys.executable, SCRIPT, "--vtrain", os.environ["VTRAIN"], "--out", folder, "--seeds", "1", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(folder) / "cache")})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_generated_day(self):
        few = ("--workloads", "day", "--costs", "2m", "--policies", "srtf;elasticflow:costs=free;elasticflow;deadline")
        with tempfile.TemporaryDirectory() as folder:
            text = self.run_grid(folder, *few)
            self.assertIn("| 0 cells |", text)
            rows = pathlib.Path(folder, "rows.csv").read_text()
            # Finished rows are not computed again.
            self.assertEqual(self.run_grid(folder, *few), text)
            self.assertEqual(pathlib.Path(folder, "rows.csv").read_text(), rows)

    @unittest.skipUnless(TRACES.exists(), "the traces are not here")
    def test_a_recorded_fortnight(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_grid(folder, "--traces", str(TRACES), "--workloads", "itp", "--costs", "2m", "--placements", "count",
                          "--deadlines", "1:2", "--policies", "srtf;deadline")


if __name__ == "__main__":
    unittest.main()
