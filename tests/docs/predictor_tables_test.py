"""The generated tables of docs/predictor: they are what the program says, and the check finds one that is not."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared"


def check(pages, *more):
    command = [sys.executable, PROJECT / "tools/predictor_tables", "--check", "--program", os.environ["VTRAIN"], "--pages", pages, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Pages(unittest.TestCase):
    def test_pages_are_what_the_program_says(self):
        done = check(PROJECT / "docs/predictor", "--shared", SHARED)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print(done.stdout.strip())


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = pathlib.Path(self.folder.name, "page.md")

    def test_a_figure_that_differs_is_shown(self):
        text = (PROJECT / "docs/predictor/constants.md").read_text()
        table = text[text.index("<!-- generated: calibration -->"):]
        self.page.write_text(table.replace("| 0.929 |", "| 0.939 |"))
        done = check(self.folder.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("\n-| `fsdp-eager` | `h100` | 1.000 | 1.004 | 0.939 |", done.stdout)
        self.assertIn("\n+| `fsdp-eager` | `h100` | 1.000 | 1.004 | 0.929 |", done.stdout)
        self.assertIn("0.939", self.page.read_text())

    def test_without_third_party_data_a_table_stays(self):
        self.page.write_text("<!-- generated: claim -->\nwritten before\n<!-- end -->\n")
        done = check(self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (0, "0 tables compared; skipped, for they need --shared: claim\n"))

    def test_a_name_that_is_unknown(self):
        self.page.write_text("<!-- generated: clam -->\n<!-- end -->\n")
        done = check(self.folder.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no table is called 'clam'", done.stderr)


if __name__ == "__main__":
    unittest.main()
