"""The admission webhook of `vtrain serve` as Kubernetes' API server calls it: over TLS, with a token.

VTRAIN names the program.
"""

import copy
import json
import pathlib
import shutil
import ssl
import unittest

import harness

# A Job of the integration's example, without the fields that do not matter here.
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "llama2-7b",
        "namespace": "nlp",
        "uid": "1",
        "creationTimestamp": "2026-11-28T17:00:00Z",
        "annotations": {
            "vtrain.dev/model": "model=llama2-7b global_batch=512 tokens=2B",
            "vtrain.dev/deadline": "10d",
        },
    },
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "template": {
            "spec": {
                "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
                "containers": [{"name": "train", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
            }
        },
    },
}


def review(uid, job=None, **fields):
    """A review of a creation."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "operation": "CREATE",
            "namespace": "nlp",
            "object": job or JOB,
            "oldObject": None,
            "dryRun": False,
            **fields,
        },
    }


def with_annotations(**annotations):
    job = copy.deepcopy(JOB)
    for key, value in annotations.items():
        job["metadata"]["annotations"]["vtrain.dev/" + key] = value
    return job


@unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
class Webhook(harness.ServiceTest):
    def setUp(self):
        super().setUp()
        key, certificate = self.new_certificate()
        self.token = self.new_token("kubernetes:operate")
        self.start = lambda: self.serve(
            *("--certificate", str(certificate), "--key", str(key), "--tokens", str(self.folder / "tokens")),
            *("--cluster", "2x8:a100", "--state", str(self.folder / "state.db"), "--log", "events"),
            context=ssl.create_default_context(cafile=certificate),
        )
        self.service = self.start()

    def validate(self, body):
        """The response in the answer to a review."""
        status, text = self.service.ask("POST", "/v1/kubernetes/validate", body, self.token)
        self.assertEqual(status, 200, text)
        self.assertEqual(self.service.headers["Content-Type"], "application/json")
        answer = json.loads(text)
        self.assertEqual((answer["apiVersion"], answer["kind"]), ("admission.k8s.io/v1", "AdmissionReview"))
        self.assertEqual(answer["response"]["uid"], body["request"]["uid"])
        return answer["response"]

    def jobs(self):
        return json.loads(self.service.ask("GET", "/v1/jobs", token=self.token)[1])["jobs"]

    def test_jobs_are_promised_or_refused(self):
        accepted = self.validate(review("a"))
        self.assertTrue(accepted["allowed"], accepted)
        self.assertRegex(accepted["warnings"][0], r"^vtrain: job 1 is promised to end by 20..-..-..T..:..:..Z$")
        self.assertEqual(accepted["auditAnnotations"], {"job": "1"})
        (job,) = self.jobs()
        self.assertEqual((job["name"], job["tenant"], job["gpus"]), ("nlp/job/llama2-7b", "nlp", 16))
        self.assertEqual((job["model"], job["tokens"], job["elastic"]), ("llama2-7b", 2e9, False))
        self.assertTrue(job["promised"])
        # The API server may send a review again, also to a service that has been started anew.
        self.assertEqual(self.validate(review("a")), accepted)
        self.assertEqual(self.service.stop(), 0)
        self.service = self.start()
        self.assertEqual(self.validate(review("a")), accepted)
        self.assertEqual(len(self.jobs()), 1)

        refused = self.validate(review("b", with_annotations(deadline="1h")))
        self.assertFalse(refused["allowed"])
        self.assertEqual(refused["status"]["code"], 403)
        self.assertTrue(refused["status"]["message"].startswith("vtrain: "))
        self.assertRegex(refused["warnings"][0], r"^vtrain: the earliest deadline is 20..-..-..T..:..:..Z$")
        self.assertEqual([job["state"] for job in self.jobs()][0], "refused")
        # With that deadline it is accepted.
        earliest = refused["warnings"][0].split()[-1]
        self.assertTrue(self.validate(review("c", with_annotations(deadline=earliest)))["allowed"])

        best_effort = copy.deepcopy(JOB)
        del best_effort["metadata"]["annotations"]["vtrain.dev/deadline"]
        without = self.validate(review("d", best_effort))
        self.assertTrue(without["allowed"])
        self.assertIn("without a promise", without["warnings"][0])

    def test_a_dry_run_changes_nothing(self):
        tried = self.validate(review("a", dryRun=True))
        self.assertTrue(tried["allowed"], tried)
        self.assertIn("llama2-7b", tried["warnings"][0])
        refused = self.validate(review("b", with_annotations(deadline="1h"), dryRun=True))
        self.assertFalse(refused["allowed"])
        self.assertIn("the earliest deadline is", " ".join(refused["warnings"]))
        self.assertEqual(self.jobs(), [])
        self.assertEqual(self.validate(review("a"))["auditAnnotations"], {"job": "1"})

    def test_wrong_annotations_name_the_place(self):
        for annotations, place in (
            ({"model": "model=lama2-7b tokens=1B"}, "vtrain.dev/model: model: "),
            ({"model": "model=llama2-7b"}, "vtrain.dev/model: tokens: "),
            ({"deadline": "soon"}, "vtrain.dev/deadline: "),
            ({"deadline": "2001-01-01T00:00:00Z"}, "vtrain.dev/deadline: "),
            ({"elastic": "perhaps"}, "vtrain.dev/elastic: "),
        ):
            for dry_run in (False, True):
                denied = self.validate(review("x", with_annotations(**annotations), dryRun=dry_run))
                self.assertFalse(denied["allowed"], annotations)
                self.assertIn("vtrain: " + place, denied["status"]["message"])
        other = copy.deepcopy(JOB)
        other["spec"]["template"]["spec"]["nodeSelector"]["nvidia.com/gpu.product"] = "NVIDIA-H100-80GB-HBM3"
        denied = self.validate(review("y", other))
        self.assertFalse(denied["allowed"])
        self.assertIn("node selector", denied["status"]["message"])
        large = copy.deepcopy(JOB)
        large["spec"]["parallelism"] = large["spec"]["completions"] = 1000
        self.assertFalse(self.validate(review("z", large))["allowed"])

    def test_all_else_is_allowed(self):
        plain = copy.deepcopy(JOB)
        del plain["metadata"]["annotations"]
        for body in (
            review("a", plain),
            review("b", operation="UPDATE", oldObject=JOB),
            review("c", operation="DELETE", object=None, oldObject=JOB),
        ):
            self.assertEqual(self.validate(body), {"uid": body["request"]["uid"], "allowed": True})
        self.assertEqual(self.jobs(), [])

    def test_who_may_ask(self):
        read, submit = self.new_token("nlp:read"), self.new_token("nlp:submit")
        self.service.stop()
        self.service = self.start()
        for token, expected in ((None, 401), (read, 403), (submit, 403), (self.token, 200)):
            self.assertEqual(self.service.ask("POST", "/v1/kubernetes/validate", review("a"), token)[0], expected)
        for body in ("", "{", "[]", "{}", '{"request": {}}', "[" * 100000):
            status, text = self.service.ask("POST", "/v1/kubernetes/validate", body, self.token)
            self.assertEqual((status, json.loads(text)["status"]), (400, 400), body[:20])
        # A large object, as the API server may store, is read; one beyond all bounds is not.
        padded = copy.deepcopy(JOB)
        padded["metadata"]["annotations"]["example.com/padding"] = "x" * (3 << 19)
        self.assertTrue(self.validate(review("large", padded))["allowed"])
        padded["metadata"]["annotations"]["example.com/padding"] = "x" * (5 << 20)
        try:
            status = self.service.ask("POST", "/v1/kubernetes/validate", review("huge", padded), self.token)[0]
        except (ConnectionError, ssl.SSLError):  # it hangs up while the client still sends
            status = 413
        self.assertEqual(status, 413)

    def test_the_example_is_accepted(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not installed")
        folder = pathlib.Path(__file__).parents[2] / "integrations/kubernetes"
        job = yaml.safe_load((folder / "job.yaml").read_text())
        self.assertTrue(self.validate(review("a", job))["allowed"])
        webhook = yaml.safe_load((folder / "webhook.yaml").read_text())["webhooks"][0]
        self.assertTrue(webhook["clientConfig"]["url"].endswith("/v1/kubernetes/validate"))
        self.assertEqual(webhook["sideEffects"], "NoneOnDryRun")


if __name__ == "__main__":
    unittest.main()
