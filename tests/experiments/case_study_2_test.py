"""The shipped experiment: its interval, and that it runs through with few jobs and says the same again."""

import importlib.util
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).parents[2] / "tools/experiments/case_study_2/case_study_2.py"
spec = importlib.util.spec_from_file_location("case_study_2", SCRIPT)
case_study = importlib.util.module_from_spec(spec)
spec.loader.exec_module(case_study)


class Interval(unittest.TestCase):
    def test_quantiles_are_those_of_printed_tables(self):
        for degrees, quantile in ((1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (19, 2.093), (30, 2.042)):
            self.assertAlmostEqual(case_study.student_t(degrees), quantile, places=3)

    def test_interval_of_ratios(self):
        # Logarithms 0 and ln 4 have the mean ln 2 and the standard error ln 2; t(1) = 12.706.
        mean, low, high = case_study.ratio_interval([1, 4])
        self.assertAlmostEqual(mean, 2)
        self.assertAlmostEqual(math.log(high / mean), 12.706 * math.log(2), places=3)
        self.assertAlmostEqual(low * high, mean**2)
        self.assertEqual(case_study.show_ratio([1.5]), "1.500")
        self.assertEqual(case_study.show_ratio([1.5, math.inf]), "-")

    def test_jct_is_compared_over_the_jobs_that_completed_in_both(self):
        self.assertEqual(case_study.jct_ratio({"a": 2, "b": 100}, {"a": 4, "c": 1}), 0.5)
        self.assertTrue(math.isnan(case_study.jct_ratio({"b": 1}, {"a": 1})))


class Run(unittest.TestCase):
    def run_script(self, out, *more):
        command = [sys.executable, SCRIPT, "--vtrain", os.environ["VTRAIN"], "--out", out, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(out) / "cache")})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_few_jobs(self):
        with tempfile.TemporaryDirectory() as folder:
            few = ("--loads", "1", "--seeds", "2", "--jobs", "12")
            first = self.run_script(folder, *few)
            rows = [line for line in first.splitlines() if line.startswith("| 1 ")]
            self.assertEqual(len(rows), 5)
            self.assertIn("elasticflow, data-parallel", rows[0])
            self.assertEqual(pathlib.Path(folder, "table.md").read_text(), "\n".join(first.splitlines()[:7]) + "\n")
            self.assertEqual(self.run_script(folder, *few), first)
            trace = pathlib.Path(folder, "load-1/seed-2/trace.csv")
            # The work asked for is the load times what the cluster can do until the last submission.
            jobs = case_study.read_jobs(trace)
            work = sum(int(job["num_gpus"]) * float(job["duration_s"]) for job in jobs)
            span = float(jobs[-1]["submit_s"])
            self.assertAlmostEqual(work / (span * 1024), 1, delta=0.01)
            recorded = self.run_script(folder, *few, "--arrivals", str(trace))
            self.assertIn("elasticflow, best plan", recorded)

    def test_the_page_shows_what_the_program_says(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_script(folder)
            table = pathlib.Path(folder, "table.md").read_text()
        self.assertIn(table, SCRIPT.with_name("README.md").read_text())

    def test_the_page_shows_what_wrong_predictions_change(self):
        page = SCRIPT.with_name("README.md").read_text()
        with tempfile.TemporaryDirectory() as folder:
            self.run_script(folder, "--loads", "1", "--seeds", "20", "--prediction-errors",
                            "none,lognormal:0.05,lognormal:0.1,lognormal:0.2")
            self.assertIn(pathlib.Path(folder, "table.md").read_text(), page)
            for command in (("sweep", SCRIPT.with_name("generated_day.json"), "--out", "day.sqlite"),
                            ("report", "day.sqlite", "--format", "markdown", "--metrics",
                             "deadline_satisfactory_ratio,rejected,promises_given,promises_kept")):
                done = subprocess.run([os.environ["VTRAIN"], *command], capture_output=True, text=True, check=False, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(done.stdout, page)


if __name__ == "__main__":
    unittest.main()
