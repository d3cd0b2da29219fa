"""A real Slurm on this machine for one test: munged, mariadbd, slurmdbd, slurmctld and a slurmd for each node.

All daemons run in the foreground as children, listen on 127.0.0.1 alone, and keep all files in one temporary folder. They end, and the
folder goes, at the end of `with`, at SIGTERM too. Should this process be killed, the kernel kills them.
"""

import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "sinfo", "scancel")
OF_ACCOUNTING = ("mariadbd", "slurmdbd", "mariadb-install-db", "mariadb-admin", "sacctmgr", "sacct", "sprio", "sshare")
SBIN = "/usr/sbin:/sbin"

CONFIGURATION = """ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SlurmdParameters=config_overrides
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=300
KillWait=2
MinJobAge=7200
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
GresTypes=gpu
{settings}
NodeName=n[0-{last}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first_node_port}-{last_node_port}] CPUs=16 RealMemory=64000 Gres=gpu:a100:8 State=UNKNOWN
"""

ACCOUNTING = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={database_port}
AccountingStoragePass={folder}/munge/socket
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits,qos
"""

DATABASE_CONFIGURATION = """AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={database_port}
SlurmUser=root
PidFile={folder}/run/slurmdbd.pid
LogFile={folder}/log/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
CommitDelay=1
"""


def why_not(accounting=True):
    """The reason why no Slurm can run here; empty if one can."""
    if os.geteuid() != 0:
        return "not root"
    path = os.environ.get("PATH", "") + ":" + SBIN
    missing = [name for name in PROGRAMS + OF_ACCOUNTING * accounting if shutil.which(name, path=path) is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    if os.path.exists("/usr/sbin/slurmctld-wlm-emulator"):
        return "the package slurm-wlm-emulator has taken over the names of the daemons"
    return ""


def free_ports(count):
    """The first of `count` free ports in a row."""
    for base in range(20000 + os.getpid() % 400 * 25, 32000, 25):
        with contextlib.ExitStack() as sockets:
            try:
                for port in range(base, base + count):
                    one = sockets.enter_context(socket.socket())
                    one.bind(("127.0.0.1", port))
                return base
            except OSError:
                continue
    raise RuntimeError("no free ports")


def die_with_parent():
    """Asks the kernel to kill this process when its parent dies."""
    parent_death_signal = 1
    ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)


class SlurmDaemons:
    """A cluster of nodes with 16 CPUs and 8 GPUs each, with accounting or without. `files` stand beside slurm.conf, texts by name."""

    def __init__(self, nodes, settings, accounting=True, files=None):
        self.nodes = nodes
        self.settings = settings
        self.accounting = accounting
        self.files = files or {}
        self.daemons = []

    def __enter__(self):
        self.old_handler = signal.signal(signal.SIGTERM, self._interrupt)
        # Unix sockets have short paths.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vtrain-slurm-", dir="/tmp"))
        self.folder.chmod(0o755)
        try:
            self._write()
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        # The last ones need those before them to end in order; each gets some seconds.
        if (self.folder / "slurm.conf").exists():
            with contextlib.suppress(subprocess.SubprocessError):
                subprocess.run(["scancel", "--state=RUNNING"], env=self.environment, capture_output=True, timeout=5)
                time.sleep(1)
        first = [each for each in self.daemons if each.args[0] in ("slurmd", "slurmctld")]
        for group in (first, [each for each in reversed(self.daemons) if each not in first]):
            for each in group:
                if group is first:
                    each.terminate()
            for each in group:
                each.terminate()
                try:
                    each.wait(15)
                except subprocess.TimeoutExpired:
                    each.kill()
                    each.wait()
        self._end_jobs()
        shutil.rmtree(self.folder, ignore_errors=True)
        signal.signal(signal.SIGTERM, self.old_handler)

    @staticmethod
    def _interrupt(*_):
        raise KeyboardInterrupt("SIGTERM")

    def _end_jobs(self):
        """Ends what is left of jobs: processes with this cluster's configuration in their environment."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "environ").read_bytes().split(b"\0")
                if mark in words and any(word.startswith(b"SLURM_JOB_ID=") for word in words):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                continue

    def _write(self):
        for name in ("log", "run", "state", "spool", "munge", "tmp", "dev", "database", "run/tmp"):
            (self.folder / name).mkdir()
        for node in range(self.nodes):
            folder = self.folder / f"tmp/n{node}"
            folder.mkdir()
            folder.chmod(0o1777)
        port = free_ports(4 + self.nodes)
        values = {"folder": self.folder, "port": port, "database_port": port + 1, "first_node_port": port + 4,
                  "last_node_port": port + 3 + self.nodes, "last": self.nodes - 1}
        self.values = values
        self.configure(self.settings)
        # A slurmd looks for cgroups even when nothing uses them. This plugin starts where none are mounted.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        # A GPU needs a device; copies of /dev/null do, and so do plain files where none can be made.
        gpus = []
        for gpu in range(8):
            device = self.folder / f"dev/gpu{gpu}"
            try:
                os.mknod(device, 0o20666, os.makedev(1, 3))
            except OSError:
                device.touch()
            gpus.append(f"NodeName=n[0-{self.nodes - 1}] Name=gpu Type=a100 File={device}\n")
        (self.folder / "gres.conf").write_text("".join(gpus))
        for name, text in self.files.items():
            (self.folder / name).write_text(text)
        database = self.folder / "slurmdbd.conf"
        database.touch(0o600)
        database.write_text(DATABASE_CONFIGURATION.format(**values))
        key = self.folder / "munge/key"
        key.touch(0o600)
        key.write_bytes(os.urandom(1024))
        self.environment = {**os.environ, "PATH": os.environ.get("PATH", "") + ":" + SBIN, "TZ": "UTC", "LC_ALL": "C",
                            "SLURM_CONF": str(self.folder / "slurm.conf")}

    def configure(self, settings):
        """Writes slurm.conf with other settings; `scontrol reconfigure` makes slurmctld read it."""
        settings = (ACCOUNTING.format(**self.values) if self.accounting else "") + settings.strip()
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(settings=settings, **self.values))

    def _launch(self, *command, **environment):
        with open(self.folder / f"log/{command[0]}.out", "ab") as out:
            self.daemons.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=die_with_parent,
                                 start_new_session=True, env={**self.environment, **environment}))

    def _start(self):
        folder = self.folder
        self._launch("munged", "--foreground", "--force", f"--key-file={folder}/munge/key", f"--socket={folder}/munge/socket",
                     f"--pid-file={folder}/run/munged.pid", f"--log-file={folder}/log/munged.log",
                     f"--seed-file={folder}/munge/seed")
        self._wait_for("test", "-S", f"{folder}/munge/socket")
        if self.accounting:
            self._start_accounting()
        self._launch("slurmctld", "-D")
        self._wait_for("scontrol", "ping")
        for node in range(self.nodes):
            self._launch("slurmd", "-D", "-N", f"n{node}")
        until = time.monotonic() + 120
        while set(self.run("sinfo", "-h", "-N", "-o", "%T").split()) != {"idle"}:
            self._check(until, "every node")

    def _start_accounting(self):
        folder = self.folder
        options = ["--no-defaults", "--user=root", f"--datadir={folder}/database", f"--tmpdir={folder}/run/tmp"]
        self.run("mariadb-install-db", *options, "--skip-test-db")
        self._launch("mariadbd", *options, f"--socket={folder}/run/mariadb.sock", f"--pid-file={folder}/run/mariadb.pid",
                     "--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=64M",
                     "--innodb-flush-log-at-trx-commit=0", f"--log-error={folder}/log/mariadb.log")
        self._wait_for("mariadb-admin", "--no-defaults", f"--socket={folder}/run/mariadb.sock", "ping")
        self._launch("slurmdbd", "-D", MYSQL_UNIX_PORT=f"{folder}/run/mariadb.sock", SLURM_CONF=f"{folder}/slurmdbd.conf")
        self._wait_for("sacctmgr", "-n", "show", "cluster")
        self.run("sacctmgr", "-i", "add", "cluster", "test", check=False)

    def _check(self, until, what):
        if time.monotonic() > until:
            logs = "".join(f"{path}:\n{path.read_text(errors='replace')[-2000:]}\n" for path in sorted((self.folder / "log").iterdir()))
            raise RuntimeError(f"{what} did not come up:\n{logs}")
        time.sleep(0.2)

    def _wait_for(self, *command):
        until = time.monotonic() + 60
        while subprocess.run(command, env=self.environment, capture_output=True).returncode != 0:
            self._check(until, " ".join(command))

    def run(self, *command, check=True, **environment):
        """Runs a client and returns what it prints."""
        done = subprocess.run(command, env={**self.environment, **environment}, capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
        return done.stdout
