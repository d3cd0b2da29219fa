"""The scripts of profiler/validation/h200, as far as they go without a GPU."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "profiler" / "validation" / "h200"))
import compare  # noqa: E402
import runs  # noqa: E402
import train  # noqa: E402


class Validation(unittest.TestCase):
    def test_runs(self):
        all_runs = runs.load_runs()
        self.assertGreaterEqual(len(all_runs), 20)
        for run in all_runs:
            self.assertEqual(run["sizes"]["hidden"] % run["sizes"]["heads"], 0)
            self.assertEqual(runs.config_of(run)["plan"]["global_batch"] % run["micro_batch"], 0)
        for key, values in {"compiled": {True, False}, "attention": {"fused", "unfused"},
                            "recompute": {"none", "full"}}.items():
            self.assertEqual({run[key] for run in all_runs}, values)

    def test_training_goes_on_where_it_stopped(self):
        all_runs = runs.load_runs()[:4]
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "measured.json"
            tried = []

            def run_one(run):
                tried.append(run["id"])
                return {"failed": "out of memory"} if len(tried) == 1 else {"times_s": [3.0, 1.0, 2.0]}

            clock = iter(range(100))
            self.assertEqual(train.record(all_runs, out, 3, run_one, lambda: next(clock)), 2)
            self.assertEqual(train.record(all_runs, out, 100, run_one, lambda: 0), 0)
            # The failed one is tried again, the measured one is not.
            self.assertEqual(tried, [run["id"] for run in [*all_runs[:2], all_runs[0], *all_runs[2:]]])
            measured = json.loads(out.read_text())
            self.assertEqual({entry["median_s"] for entry in measured.values()}, {2.0})

    def test_comparison(self):
        first, second, third = runs.load_runs()[:3]
        measured = {first["id"]: {"median_s": 2.0, "peak_allocated_bytes": 100},
                    second["id"]: {"median_s": 1.0, "peak_allocated_bytes": 200}, third["id"]: {"failed": "x"}}
        predictions = {run["id"]: {"iteration_time_s": 1.1, "peak_bytes": 190} for run in (first, second, third)}
        rows = compare.compare([first, second, third], measured, predictions)
        self.assertEqual([row["id"] for row in rows], [first["id"], second["id"]])
        total = compare.summarize(rows)
        self.assertAlmostEqual(total["mape_percent"], (45 + 10) / 2)  # 1.1 for 2 is 45 % too little
        self.assertAlmostEqual(total["worst_percent"], 45)
        self.assertAlmostEqual(total["worst_memory_percent"], 90)


if __name__ == "__main__":
    unittest.main()
