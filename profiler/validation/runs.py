"""The training runs of configurations.json, and files that are replaced as a whole."""
import copy
import json
import os
import pathlib
import re
import statistics

FOLDER = pathlib.Path(__file__).resolve().parent


def run_id(run):
    parts = [run["model"], f"l{run['layers']}", f"s{run['sequence']}", f"mb{run['micro_batch']}x{run['micro_batches']}",
             "compiled" if run["compiled"] else "eager", run["attention"], f"recompute-{run['recompute']}"]
    return "_".join(parts)


def load_runs(path=FOLDER / "configurations.json"):
    """Every run with its defaults and its model's sizes filled in; ids are unique."""
    described = json.loads(pathlib.Path(path).read_text())
    runs = []
    for given in described["runs"]:
        model = described["models"][given["model"]]
        run = {**described["defaults"], "layers": model["layers"], **given}
        run["sizes"] = {**model, "layers": run["layers"]}
        run["id"] = run_id(run)
        runs.append(run)
    ids = [run["id"] for run in runs]
    if len(set(ids)) != len(ids):
        raise ValueError("two runs have the same id")
    return runs


def read_json(path, default):
    path = pathlib.Path(path)
    return json.loads(path.read_text()) if path.exists() else copy.deepcopy(default)


def write_json(path, value):
    """Written under another name and renamed, so that an interrupted run leaves the old file."""
    path = pathlib.Path(path)
    temporary = path.with_name(f"{path.name}.part.{os.getpid()}")
    temporary.write_text(json.dumps(value, indent=1) + "\n")
    os.replace(temporary, path)


def model_of(run):
    """The model as `vtrain predict` reads it."""
    sizes = run["sizes"]
    is_llama = sizes["family"] == "llama"
    return {
        "name": run["model"], "num_layers": sizes["layers"], "hidden_size": sizes["hidden"], "num_heads": sizes["heads"],
        "num_kv_heads": sizes["key_value_heads"], "ffn_size": sizes["ffn"], "vocab_size": sizes["vocabulary"],
        "sequence_length": run["sequence"], "activation": "swiglu" if is_llama else "gelu",
        "normalization": "rms_norm" if is_llama else "layer_norm", "positions": "rotary" if is_llama else "learned",
        "tied_embeddings": not is_llama, "has_bias": False}


def stack_of(run):
    """The stack that describes how the run was trained."""
    return "pytorch-compiled" if run["compiled"] else "pytorch-unfused" if run["attention"] == "unfused" else "pytorch-eager"


def config_of(run):
    """The configuration for `vtrain predict`."""
    return {"model": model_of(run), "stack": stack_of(run),
            "plan": {"data": 1, "global_batch": run["micro_batch"] * run["micro_batches"],
                     "micro_batch": run["micro_batch"], "recompute": run["recompute"], "precision": "bf16"}}


NO_RECORDS = {"note": "Measured by profiler/validation/train.py. Times are medians.", "runs": [], "failed": {}}
GIBIBYTE = 2**30


def record_of(run, result):
    """A measurement as `vtrain validate` reads it."""
    gpu = result["gpu"]
    type_of_gpu = next((word for word in re.split("[^a-z0-9]+", gpu.lower()) if re.fullmatch("[a-z]+[0-9]+", word)), gpu)
    config = config_of(run)
    return {
        "id": run["id"], "group": f"{config['stack']}-{type_of_gpu}", "source": f"PyTorch {result['torch']}, CUDA {result['cuda']}",
        "settings": {"model": config["model"], "profile": gpu, "stack": config["stack"], "plan": config["plan"]},
        "measured": {"iteration_s": statistics.median(result["times_s"]), "iterations_s": result["times_s"],
                     "mem_alloc_gib": result["peak_allocated_bytes"] / GIBIBYTE,
                     "mem_reserved_gib": result["peak_reserved_bytes"] / GIBIBYTE}}
