"""The scripts of profiler/validation, as far as they go without a GPU."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "profiler" / "validation"))
import compare  # noqa: E402
import runs  # noqa: E402
import train  # noqa: E402


TRANSFORMERS = runs.FOLDER / "transformers.json"
FIXTURE = pathlib.Path(__file__).resolve().parent / "validation_records.json"


def invented(number):
    """What a run might answer; no GPU was ever asked."""
    return {"times_s": [3.0, 1.0, 2.0 + number], "peak_allocated_bytes": 2**34, "peak_reserved_bytes": 3 * 2**33,
            "gpu": "NVIDIA H200", "torch": "0.0-fixture", "cuda": "0.0"}


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

    def test_runs_of_transformers(self):
        all_runs = runs.load_runs(TRANSFORMERS)
        self.assertGreaterEqual(len(all_runs), 50)
        for key, values in {"compiled": {True, False}, "attention": {"sdpa", "eager"}, "recompute": {"none", "full"},
                            "weights": {"bf16", "fp32"}, "experts": {"grouped_mm", "eager"}}.items():
            self.assertEqual({run[key] for run in all_runs}, values)
        self.assertEqual({runs.stack_of(run) for run in all_runs},
                         {"pytorch-eager", "pytorch-compiled", "transformers-eager"})
        cut = next(run for run in all_runs if run["model"] == "mixtral")
        config = runs.config_of(cut)
        self.assertEqual(config["model"]["model_type"], "mixtral")
        self.assertEqual(config["model"]["num_hidden_layers"], cut["layers"])
        self.assertEqual(config["plan"]["sequence_length"], cut["sequence"])
        for run in all_runs:
            self.assertEqual(runs.has_experts(run), "experts" in runs.group_of(run, "h200"))

    def test_records_of_transformers_say_how_they_were_trained(self):
        run = next(run for run in runs.load_runs(TRANSFORMERS) if run["model"] == "qwen3-moe" and run["weights"] == "fp32")
        record = runs.record_of(run, {**invented(0), "transformers": "5.0-fixture"})
        self.assertEqual(record["group"], "transformers-grouped-experts-sdpa-fp32-h200")
        self.assertTrue(record["source"].endswith("Transformers 5.0-fixture"))
        self.assertIn("autocast", record["note"])
        self.assertIn("experts grouped_mm", record["note"])

    def test_every_measured_run_of_transformers_was_predicted(self):
        described = {run["id"] for run in runs.load_runs(TRANSFORMERS)}
        for gpu in ("h100", "h200"):
            measured = json.loads((TRANSFORMERS.parent / gpu / "transformers_measured.json").read_text())
            predictions = json.loads((TRANSFORMERS.parent / gpu / "transformers_predictions.json").read_text())
            self.assertLessEqual({record["id"] for record in measured["runs"]}, set(predictions))
            self.assertLessEqual(set(predictions), described)

    def test_training_goes_on_where_it_stopped(self):
        all_runs = runs.load_runs()[:4]
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "measured.json"
            tried = []

            def run_one(run):
                tried.append(run["id"])
                return {"failed": "out of memory"} if len(tried) == 1 else invented(0)

            clock = iter(range(100))
            self.assertEqual(train.record(all_runs, out, 3, run_one, lambda: next(clock)), 2)
            self.assertEqual(train.record(all_runs, out, 100, run_one, lambda: 0), 0)
            # The failed one is tried again, the measured one is not.
            self.assertEqual(tried, [run["id"] for run in [*all_runs[:2], all_runs[0], *all_runs[2:]]])
            records = json.loads(out.read_text())
            self.assertEqual([run["id"] for run in records["runs"]],
                             [all_runs[1]["id"], all_runs[0]["id"], all_runs[2]["id"], all_runs[3]["id"]])
            self.assertEqual({run["measured"]["iteration_s"] for run in records["runs"]}, {2.0})
            self.assertEqual(records["failed"], {})
            self.assertEqual(train.missing_runs(all_runs, records), [])

    def test_records_are_those_that_validate_reads(self):
        """The fixture is also read by tests/unit/workloads/validation/measured_case_test.cpp."""
        all_runs = runs.load_runs()
        chosen = [next(run for run in all_runs if wanted(run)) for wanted in (
            lambda run: run["compiled"] and run["recompute"] == "full" and run["model"] == "llama3-8b",
            lambda run: not run["compiled"] and run["attention"] == "fused",
            lambda run: run["attention"] == "unfused")]
        answers = iter([invented(0), {"failed": "out of memory"}, invented(1), invented(2)])
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "measured.json"
            train.record([chosen[0], all_runs[-2], *chosen[1:]], out, 100, lambda run: next(answers), lambda: 0)
            records = json.loads(out.read_text())
        expected = json.loads(FIXTURE.read_text())
        expected["note"] = records["note"]  # the fixture's own says that its numbers are invented
        self.assertEqual(records, expected)
        self.assertEqual([runs.stack_of(run) for run in chosen],
                         ["pytorch-compiled", "pytorch-eager", "pytorch-unfused"])

    def test_what_is_left_is_listed_without_pytorch(self):
        script = pathlib.Path(train.__file__)
        done = subprocess.run([sys.executable, script, "--list", "--out", FIXTURE], capture_output=True, text=True,
                              check=True)
        num_runs = len(runs.load_runs())
        self.assertIn(f"{num_runs - 3} of {num_runs} runs are left", done.stdout)

    def test_comparison(self):
        first, second, third = runs.load_runs()[:3]
        records = {"runs": [{"id": first["id"], "measured": {"iteration_s": 2.0, "mem_alloc_gib": 100}},
                             {"id": second["id"], "measured": {"iteration_s": 1.0, "mem_alloc_gib": 200}}],
                   "failed": {third["id"]: "x"}}
        predictions = {run["id"]: {"iteration_time_s": 1.1, "peak_bytes": 190 * 2**30} for run in (first, second, third)}
        rows = compare.compare([first, second, third], records, predictions)
        self.assertEqual([row["id"] for row in rows], [first["id"], second["id"]])
        total = compare.summarize(rows)
        self.assertAlmostEqual(total["mape_percent"], (45 + 10) / 2)  # 1.1 for 2 is 45 % too little
        self.assertAlmostEqual(total["worst_percent"], 45)
        self.assertAlmostEqual(total["worst_memory_percent"], 90)


if __name__ == "__main__":
    unittest.main()
