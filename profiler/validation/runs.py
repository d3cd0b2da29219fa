"""The training runs of configurations.json and transformers.json, and files that are replaced as a whole."""
import copy
import json
import os
import pathlib
import re
import statistics

FOLDER = pathlib.Path(__file__).resolve().parent


# Key of a Hugging Face configuration that holds the number of layers, by model type.
LAYER_KEYS = {"gpt2": "n_layer"}


def is_transformers(run):
    """Whether Hugging Face Transformers computes the model, and not model.py."""
    return run["library"] == "transformers"


def has_experts(run):
    return any(key in run["sizes"] for key in ("num_experts", "num_local_experts"))


def run_id(run):
    parts = [run["model"], f"l{run['layers']}", f"s{run['sequence']}", f"mb{run['micro_batch']}x{run['micro_batches']}",
             "compiled" if run["compiled"] else "eager", run["attention"], f"recompute-{run['recompute']}"]
    if is_transformers(run):
        parts += [f"weights-{run['weights']}", *([f"experts-{run['experts']}"] if has_experts(run) else [])]
    return "_".join(parts)


def load_runs(path=FOLDER / "configurations.json"):
    """Every run with its defaults and its model's sizes filled in; ids are unique."""
    described = json.loads(pathlib.Path(path).read_text())
    runs = []
    for given in described["runs"]:
        model = described["models"][given["model"]]
        layers = LAYER_KEYS.get(model["model_type"], "num_hidden_layers") if "model_type" in model else "layers"
        run = {"library": "pytorch", **described["defaults"], "layers": model[layers], **given}
        run["sizes"] = {**model, layers: run["layers"]}
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
    """The model as `vtrain predict` reads it; a configuration of Hugging Face as it is."""
    sizes = run["sizes"]
    if is_transformers(run):
        return sizes
    is_llama = sizes["family"] == "llama"
    return {
        "name": run["model"], "num_layers": sizes["layers"], "hidden_size": sizes["hidden"], "num_heads": sizes["heads"],
        "num_kv_heads": sizes["key_value_heads"], "ffn_size": sizes["ffn"], "vocab_size": sizes["vocabulary"],
        "sequence_length": run["sequence"], "activation": "swiglu" if is_llama else "gelu",
        "normalization": "rms_norm" if is_llama else "layer_norm", "positions": "rotary" if is_llama else "learned",
        "tied_embeddings": not is_llama, "has_bias": False}


def stack_of(run):
    """The stack that describes how the run was trained. Eager attention of Transformers is that of `transformers-eager`; its `sdpa`
    is PyTorch's fused attention, which `pytorch-eager` has."""
    if run["compiled"]:
        return "pytorch-compiled"
    unfused = {"unfused": "pytorch-unfused", "eager": "transformers-eager"}
    return unfused.get(run["attention"], "pytorch-eager")


def config_of(run):
    """The configuration for `vtrain predict`."""
    plan = {"data": 1, "global_batch": run["micro_batch"] * run["micro_batches"], "micro_batch": run["micro_batch"],
            "recompute": run["recompute"], "precision": "bf16"}
    if is_transformers(run):
        plan["sequence_length"] = run["sequence"]
    return {"model": model_of(run), "stack": stack_of(run), "plan": plan}


NO_RECORDS = {"note": "Measured by profiler/validation/train.py. Times are medians.", "runs": [], "failed": {}}
GIBIBYTE = 2**30


def group_of(run, type_of_gpu):
    """Runs whose errors belong together."""
    if not is_transformers(run):
        return f"{stack_of(run)}-{type_of_gpu}"
    kind = {"grouped_mm": "grouped-experts", "eager": "looped-experts"}[run["experts"]] if has_experts(run) else "dense"
    kernels = "compiled" if run["compiled"] else run["attention"]
    return "-".join(["transformers", kind, kernels, run["weights"], type_of_gpu])


def note_of(run):
    """What the settings do not say, for people."""
    weights = {"bf16": "weights, gradients and AdamW's states in bf16",
               "fp32": "weights, gradients and AdamW's states in fp32, autocast to bf16"}[run["weights"]]
    return f"attention {run['attention']}; {weights}" + (f"; experts {run['experts']}" if has_experts(run) else "")


def record_of(run, result):
    """A measurement as `vtrain validate` reads it."""
    gpu = result["gpu"]
    type_of_gpu = next((word for word in re.split("[^a-z0-9]+", gpu.lower()) if re.fullmatch("[a-z]+[0-9]+", word)), gpu)
    config = config_of(run)
    source = f"PyTorch {result['torch']}, CUDA {result['cuda']}"
    record = {
        "id": run["id"], "group": group_of(run, type_of_gpu), "source": source,
        "settings": {"model": config["model"], "profile": gpu, "stack": config["stack"], "plan": config["plan"]},
        "measured": {"iteration_s": statistics.median(result["times_s"]), "iterations_s": result["times_s"],
                     "mem_alloc_gib": result["peak_allocated_bytes"] / GIBIBYTE,
                     "mem_reserved_gib": result["peak_reserved_bytes"] / GIBIBYTE}}
    if is_transformers(run):
        record["source"] += f", Transformers {result['transformers']}"
        record["note"] = note_of(run)
    return record
