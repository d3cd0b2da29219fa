#!/usr/bin/env python3
"""Trains the runs of configurations.json, or of transformers.json, on this GPU and notes how long an iteration takes.

    train.py --out measured.json [--runs transformers.json] [--time-limit 210]
    train.py --out measured.json --list      what is left to do; needs neither GPU nor PyTorch

The file is what `vtrain validate` reads. Runs that are in it already are left out, and no run is begun after the time
limit: run it again to go on. Each run is a process of its own, so that one that fails leaves the others alone; they are
forked from one that has loaded PyTorch."""
import argparse
import functools
import multiprocessing
import sys
import time
import traceback

import runs as described

WARM_UP = 3
LEAST_ITERATIONS = 8
MEASURED_SECONDS = 4.0
LONGEST_RUN = 240  # seconds: compiling takes a minute or two


class NoGpu(Exception):
    pass


def plain_iteration(run):
    """A function that trains a model of model.py for one iteration."""
    import torch

    import model as models

    device = torch.device("cuda")
    with torch.device(device):
        net = models.Transformer(run["sizes"], run["sequence"], run["attention"], run["recompute"])
    net.to(torch.bfloat16)
    optimizer = models.MasterAdamW(net)
    if run["compiled"]:
        for layer in net.layers:
            layer.compile()
    shape = (run["micro_batch"], run["sequence"] + 1)
    tokens = torch.randint(run["sizes"]["vocabulary"], shape, device=device)

    def iterate():
        for _ in range(run["micro_batches"]):
            (net(tokens[:, :-1], tokens[:, 1:]) / run["micro_batches"]).backward()
        optimizer.step()

    return iterate, {}


def transformers_iteration(run):
    import hugging_face

    return hugging_face.iteration(run)


def measure(run, seconds):
    """Iteration times in seconds over at least so long, and peak memory in bytes."""
    import torch

    if not torch.cuda.is_available():
        raise NoGpu("PyTorch finds none on this machine")
    torch.manual_seed(1)
    iterate, versions = (transformers_iteration if described.is_transformers(run) else plain_iteration)(run)
    for _ in range(WARM_UP):
        iterate()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    times = []
    while len(times) < LEAST_ITERATIONS or sum(times) < seconds:
        start = time.perf_counter()
        iterate()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return {"times_s": times, "peak_allocated_bytes": torch.cuda.max_memory_allocated(),
            "peak_reserved_bytes": torch.cuda.max_memory_reserved(), "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__, "cuda": torch.version.cuda, **versions}


def send_measurement(run, seconds, connection):
    """Sends the measurement, or why there is none, as {"failed": reason}."""
    try:
        connection.send(measure(run, seconds))
    except Exception as error:  # whatever it is, the other runs go on
        traceback.print_exc()
        connection.send({"failed": f"{type(error).__name__}: {error}".splitlines()[0][:300]})


def run_apart(run, seconds=MEASURED_SECONDS):
    """The measurement of another process, or why there is none."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "hugging_face" if described.is_transformers(run) else "model"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=send_measurement, args=(run, seconds, sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(LONGEST_RUN):
            return {"failed": f"took longer than {LONGEST_RUN} s"}
        return receiver.recv()
    except EOFError:
        process.join()
        return {"failed": f"ended with exit code {process.exitcode}"}
    finally:
        process.kill()
        process.join()


def missing_runs(all_runs, records):
    """Those without a measurement; what failed is tried again."""
    measured = {record["id"] for record in records["runs"]}
    return [run for run in all_runs if run["id"] not in measured]


def record(all_runs, out, time_limit, run_one, now=time.monotonic):
    """Measures what the file lacks. Returns how many runs are left."""
    records = described.read_json(out, described.NO_RECORDS)
    missing = missing_runs(all_runs, records)
    started = now()
    for done, run in enumerate(missing):
        if now() - started >= time_limit:
            return len(missing) - done
        result = run_one(run)
        reason = result.get("failed", "")
        if reason.startswith(("NoGpu", "ModuleNotFoundError")):
            raise SystemExit(reason)
        if reason:
            records["failed"][run["id"]] = reason
        else:
            records["failed"].pop(run["id"], None)
            records["runs"].append(described.record_of(run, result))
        described.write_json(out, records)
        print(run["id"], reason or f"{records['runs'][-1]['measured']['iteration_s']:.4f} s", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--runs", default=described.FOLDER / "configurations.json", help="file of the runs [configurations.json]")
    parser.add_argument("--seconds", type=float, default=MEASURED_SECONDS, help="measures a run at least so long [4]")
    parser.add_argument("--time-limit", type=float, default=450 - LONGEST_RUN, help="seconds; begins no run after so long")
    parser.add_argument("--list", action="store_true", help="name the runs that are left, and end")
    arguments = parser.parse_args()
    all_runs = described.load_runs(arguments.runs)
    if arguments.list:
        left = missing_runs(all_runs, described.read_json(arguments.out, described.NO_RECORDS))
        print("\n".join([*(run["id"] for run in left), f"{len(left)} of {len(all_runs)} runs are left"]))
        return 0
    left = record(all_runs, arguments.out, arguments.time_limit, functools.partial(run_apart, seconds=arguments.seconds))
    if left:
        print(f"{left} runs are left: run the same command again to go on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
