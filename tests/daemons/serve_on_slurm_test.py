"""integrations/slurm/job_submit.lua in a real slurmctld with two nodes, which asks a real `vtrain serve`.

Needs root and the packages slurmctld, slurmd, slurm-client, munge, lua-socket, slurmdbd, mariadb-server; exit code 77 without them. `Smoke`
is one job, without the last two.
"""

import http.client
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "integrations/python"))
from slurm_daemons import SlurmDaemons, die_with_parent, why_not  # noqa: E402
from vtrain_client import Client  # noqa: E402

SCRIPT = HERE.parents[1] / "integrations/slurm/job_submit.lua"
SETTINGS = """SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1
JobSubmitPlugins=lua
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
LONGEST_S = 300
EASY = "vtrain: model=gpt3-13b tokens=1M deadline=2d"
HOPELESS = "vtrain: model=gpt3-13b tokens=300B deadline=1h"


class OnSlurm(unittest.TestCase):
    """A service and a Slurm that asks it."""

    accounting = False

    @classmethod
    def setUpClass(cls):
        signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done after {LONGEST_S} s"))
        signal.alarm(LONGEST_S)
        cls.addClassCleanup(signal.alarm, 0)
        folder = tempfile.TemporaryDirectory(prefix="vtrain-serve-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        program = [os.environ["VTRAIN"], "serve"]
        tokens = ["--tokens", str(cls.folder / "tokens")]
        made = subprocess.run([*program, *tokens, "--new-token", "slurm:operate"], capture_output=True, text=True, check=True)
        token = cls.folder / "vtrain.token"
        token.touch(0o600)
        token.write_text(made.stdout)
        command = [*program, "--listen", "127.0.0.1:0", "--cluster", "2x8:a100", "--state", str(cls.folder / "state.db"), *tokens]
        with open(cls.folder / "log", "w") as log:
            cls.service = subprocess.Popen(command, stderr=log, preexec_fn=die_with_parent)
        cls.addClassCleanup(cls.end_service)
        until = time.monotonic() + 60
        while not (log := (cls.folder / "log").read_text()).endswith("\n"):
            if cls.service.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the service did not start: " + log)
            time.sleep(0.05)
        cls.port = json.loads(log.splitlines()[0])["port"]
        cls.client = Client(f"http://127.0.0.1:{cls.port}", made.stdout.strip())
        cls.slurm = SlurmDaemons(2, SETTINGS, cls.accounting, {"job_submit.lua": cls.script("pass")})
        cls.slurm.__enter__()
        cls.addClassCleanup(cls.slurm.__exit__, None, None, None)
        if cls.accounting:
            cls.slurm.run("sacctmgr", "-i", "add", "account", "nlp", "cluster=test")
            cls.slurm.run("sacctmgr", "-i", "add", "user", "daemon", "account=nlp")

    @classmethod
    def end_service(cls):
        cls.service.send_signal(signal.SIGCONT)
        cls.service.terminate()
        cls.service.wait(60)

    @classmethod
    def script(cls, without_answer):
        """The script with the settings of this test."""
        text = SCRIPT.read_text()
        for key, value in (
            ("without_answer", f'"{without_answer}"'),
            ("port", cls.port),
            ("token_file", f'"{cls.folder}/vtrain.token"'),
        ):
            text, count = re.subn(f"(?m)^  {key} = .*$", f"  {key} = {value},", text)
            assert count == 1, key
        return text

    def submit(self, comment, *options, program="sbatch"):
        """Submits a job of 8 GPUs on two nodes that ends at once."""
        command = [program, *([f"--comment={comment}"] if comment else []), "-N2", "--gres=gpu:4", "-A", "nlp", *options]
        command += ["--uid=daemon", "--gid=nogroup", "--chdir=/"]
        command += ["--parsable", "-o", "/dev/null", "--wrap=exit 0"] if program == "sbatch" else ["true"]
        begin = time.monotonic()
        made = subprocess.run(command, env=self.slurm.environment, capture_output=True, text=True, timeout=60)
        self.seconds = time.monotonic() - begin
        return made

    def fields(self, made):
        """What Slurm says of a job that was submitted."""
        self.assertEqual(made.returncode, 0, made.stderr)
        text = self.slurm.run("scontrol", "show", "job", made.stdout.strip())
        found = {key: re.findall(rf"(?m)\b{key}=(.*?) ?$", text) for key in ("TimeLimit", "Comment")}
        return {"Comment": "".join(found["Comment"]), "TimeLimit": found["TimeLimit"][0].split()[0]}

    def log(self):
        return (self.slurm.folder / "log/slurmctld.log").read_text(errors="replace")

    @staticmethod
    def minutes(text):
        """Minutes of `1-02:03:04`."""
        days, _, clock = text.rpartition("-")
        hours, minutes, seconds = map(int, clock.split(":"))
        return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60

    def check_admitted(self):
        made = self.submit(EASY, "-J", "run-7")
        fields = self.fields(made)
        id_ = re.fullmatch(r"vtrain: job=(\S+) model=gpt3-13b tokens=1M deadline=2d", fields["Comment"]).group(1)
        job = self.client.job(id_)
        self.assertEqual(
            [job[key] for key in ("name", "tenant", "gpus", "elastic", "admitted", "promised")],
            ["run-7", "nlp", 8, False, True, True],
        )
        self.assertEqual(self.minutes(fields["TimeLimit"]), math.ceil(job["time_limit_s"] / 60))
        self.assertIn(f"vtrain: job {id_}, in time for its deadline; time limit ", made.stderr)
        self.assertIn(f"vtrain: user 0: job {id_}", self.log())
        return job


class Smoke(OnSlurm):
    def test_an_admitted_job(self):
        self.check_admitted()


class ServeOnSlurm(OnSlurm):
    accounting = True  # without it Slurm's commands do not tell the GPUs of a job

    def test_an_admitted_job(self):
        job = self.check_admitted()
        limit = math.ceil(job["time_limit_s"] / 60)
        self.assertEqual(self.minutes(self.fields(self.submit(EASY, "--time=100000"))["TimeLimit"]), limit)
        made = self.submit(EASY, "--time=1")
        self.assertEqual(self.minutes(self.fields(made)["TimeLimit"]), 1)
        if limit > 1:
            self.assertIn("shorter than", made.stderr)

    def test_a_refused_job(self):
        for program in ("sbatch", "srun"):
            made = self.submit(HOPELESS, program=program)
            self.assertNotEqual(made.returncode, 0)
            newest = next(self.client.jobs(limit=1))
            self.assertEqual(newest["state"], "refused")
            self.assertIn(f"{program}: error: vtrain: refused: {newest['reason']}", made.stderr)
            self.assertEqual(made.stdout, "")
            self.assertIn("vtrain: user 0: refused: ", self.log())

    def test_jobs_without_the_comment_pass_untouched(self):
        before = [job["id"] for job in self.client.jobs()]
        for comment in ("", "llama", "job=1"):
            made = self.submit(comment)
            fields = self.fields(made)
            self.assertEqual((fields["Comment"], fields["TimeLimit"], made.stderr), (comment, "UNLIMITED", ""))
        self.assertEqual([job["id"] for job in self.client.jobs()], before)

    def test_an_error_of_the_service(self):
        made = self.submit("vtrain: model=no-such-model tokens=1M")
        self.assertEqual(self.fields(made)["Comment"], "vtrain: model=no-such-model tokens=1M")
        self.assertIn("no promise for this job, since the service answers 4", made.stderr)
        self.assertIn("no-such-model", made.stderr)

    def test_hostile_comments(self):
        for comment in (
            "vtrain: %s%n%d", 'vtrain: model=" tokens=1', 'vtrain: model=a","x":"b tokens=1',
            "vtrain: model=\x01\xff\\ tokens=\"'", "vtrain:" * 100,
        ):
            made = self.submit(comment)
            self.assertEqual(self.fields(made)["TimeLimit"], "UNLIMITED")
            self.assertIn("no promise for this job, since ", made.stderr)
        self.assertNotIn("error in job_submit.lua", self.log())

    def test_changes_keep_the_id(self):
        made = self.submit(EASY, "--hold")
        comment, id_ = self.fields(made)["Comment"], made.stdout.strip()
        self.slurm.run("scontrol", "update", f"jobid={id_}", "timelimit=5")
        self.assertEqual(self.fields(made)["Comment"], comment)
        change = ["scontrol", "update", f"jobid={id_}", "comment=vtrain: job=999 model=x"]
        run_as = ["setpriv", "--reuid=daemon", "--regid=nogroup", "--clear-groups"]
        subprocess.run([*run_as, *change], env=self.slurm.environment, check=True, capture_output=True)
        self.assertEqual(self.fields(made)["Comment"], comment.split(" model=")[0] + " model=x")
        self.slurm.run("scancel", id_)

    def test_a_snapshot_is_paired_by_the_ids_in_the_comments(self):
        made = self.submit(EASY, "-J", "run-8")
        id_ = self.fields(made)["Comment"].split("job=")[1].split()[0]
        until = time.monotonic() + 30
        while "JobState=COMPLETED" not in self.slurm.run("scontrol", "show", "job", made.stdout.strip()):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
        self.assertIn(self.client.job(id_)["state"], ("waiting", "running"))  # it would take longer
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = self.slurm.run("scontrol", "show", "job", made.stdout.strip())
        connection.request("PUT", "/v1/snapshot", body, {"Content-Type": "text/plain", **self.client.headers})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.read())
        connection.close()
        self.assertEqual(self.client.job(id_)["state"], "completed")

    def test_no_answer(self):
        def check(behaviour, reason, most_seconds):
            # Slurm reads a script again when its time stamp is newer by whole seconds.
            time.sleep(1.1)
            (self.slurm.folder / "job_submit.lua").write_text(self.script(behaviour))
            made = self.submit(EASY)
            self.assertLess(self.seconds, most_seconds)
            if behaviour == "pass":
                fields = self.fields(made)
                self.assertEqual((fields["Comment"], fields["TimeLimit"]), (EASY, "UNLIMITED"))
                self.assertIn(f"sbatch: vtrain: no promise for this job, since {reason}", made.stderr)
                self.assertIn(
                    f"error: lua: vtrain: user 0: no promise for this job, since {reason}",
                    self.log().replace("job_submit/lua", "lua"),
                )
            else:
                self.assertNotEqual(made.returncode, 0)
                self.assertIn(f"sbatch: error: vtrain: refused, since {reason}", made.stderr)
                self.assertIn(f"vtrain: user 0: refused, since {reason}", self.log())

        self.service.send_signal(signal.SIGSTOP)
        for behaviour in ("pass", "refuse"):
            check(behaviour, "the service does not answer in 2 s", 3)
        self.service.send_signal(signal.SIGCONT)
        # The request that was refused is asked again under its key: the service's job is the one that it has made meanwhile.
        time.sleep(1)
        jobs = [job["id"] for job in self.client.jobs()]
        made = self.submit(EASY)
        self.assertIn(self.fields(made)["Comment"].split("job=")[1].split()[0], jobs)
        self.assertEqual([job["id"] for job in self.client.jobs()], jobs)
        self.end_service()
        for behaviour in ("pass", "refuse"):
            check(behaviour, "the service cannot be reached: connection refused", 3)


if __name__ == "__main__":
    reason_ = why_not(accounting="Smoke" not in sys.argv)
    if not reason_ and not list(pathlib.Path("/usr").glob("lib/*/lua/5.1/socket/core.so")):
        reason_ = "lua-socket is not installed"
    if reason_:
        print(f"skipped: no Slurm can run here ({reason_})")
        sys.exit(77)
    unittest.main()
