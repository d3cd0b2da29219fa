"""The document /openapi.json is valid OpenAPI, as the validator of npm that the environment names has it.

NODE names Node.js, NODE_MODULES the folder with the validator.
"""

import json
import os
import subprocess
import unittest

from harness import ServiceTest

VALIDATOR = os.path.join(os.environ["NODE_MODULES"], "@seriousme/openapi-schema-validator/bin/validate-api-cli.js")


class OpenApi(ServiceTest):
    def check(self, text):
        file = self.folder / "openapi.json"
        file.write_text(text)
        checked = subprocess.run([os.environ["NODE"], VALIDATOR, file], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_descriptions_are_valid(self):
        self.check(self.serve().ask("GET", "/openapi.json")[1])
        text = self.serve_jobs().ask("GET", "/openapi.json")[1]
        self.check(text)
        document = json.loads(text)
        self.assertIn("/v1/jobs/{id}/progress", document["paths"])
        names = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
        self.assertEqual(len(names), len(set(names)))

    def test_the_validator_finds_errors(self):
        document = json.loads(self.serve().ask("GET", "/openapi.json")[1])
        del document["info"]["version"]
        with self.assertRaises(AssertionError):
            self.check(json.dumps(document))


if __name__ == "__main__":
    unittest.main()
