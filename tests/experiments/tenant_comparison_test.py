"""The comparison of policies that know tenants: how it divides the cluster, and that its table has the figures of the runs."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).parents[2] / "tools/experiments/tenants/tenant_comparison.py"
TRACES = pathlib.Path(__file__).parents[3] / "shared/data/traces"
spec = importlib.util.spec_from_file_location("tenant_comparison", SCRIPT)
comparison = importlib.util.module_from_spec(spec)
spec.loader.exec_module(comparison)


class Parts(unittest.TestCase):
    def test_whole_parts_add_up_and_large_remainders_go_up(self):
        self.assertEqual(comparison.parts_of(10, {"a": 1, "b": 2, "c": 4}), {"a": 1, "b": 3, "c": 6})
        for weights in comparison.SHARES.values():
            for nodes, gpus, _ in comparison.CLUSTER:
                parts = comparison.parts_of(nodes * gpus, weights)
                self.assertEqual(sum(parts.values()), nodes * gpus)
                for name, part in parts.items():
                    self.assertLess(abs(part - nodes * gpus * weights[name] / sum(weights.values())), 1)


class Run(unittest.TestCase):
    @unittest.skipUnless(TRACES.is_dir(), "skipped: no traces")
    def test_a_week(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "itp"
            command = [sys.executable, SCRIPT, "itp", "--traces", TRACES, "--out", out, "--vtrain", os.environ["VTRAIN"],
                       "--policies", "fifo,fair-share,kueue"]
            subprocess.run(command, check=True, capture_output=True, env={**os.environ, "XDG_CACHE_HOME": folder})
            lines = (out / "table.md").read_text().splitlines()
            self.assertEqual([line.split("|")[1].strip() for line in lines[2:]], ["fifo", "fair-share", "kueue"])
            found = json.loads((out / "runs/kueue/summary.json").read_text())
            self.assertEqual(found["jobs"], 12012)
            self.assertIn(f"| {found['shares']['jain_index']:.3f} |", lines[4])
            self.assertIn("What a policy gains, and at what cost", (out / "runs/report.html").read_text())


if __name__ == "__main__":
    unittest.main()
