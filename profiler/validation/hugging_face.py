"""Causal language models of Hugging Face Transformers with random weights, trained by a script without a framework."""
import importlib

import torch
import transformers

# Loaded before the runs' processes are forked.
for family in ("gpt2", "llama", "mixtral", "qwen3", "qwen3_moe"):
    importlib.import_module(f"transformers.models.{family}.modeling_{family}")


def make_model(run):
    """The model on the GPU, made from its configuration; nothing is loaded."""
    settings = dict(run["sizes"])
    config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings, use_cache=False)
    options = {"attn_implementation": run["attention"],
               "dtype": {"bf16": torch.bfloat16, "fp32": torch.float32}[run["weights"]]}
    if "num_experts" in settings or "num_local_experts" in settings:
        options["experts_implementation"] = run["experts"]
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, **options)
    model.train()
    if run["recompute"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if run["compiled"]:
        for layer in model.base_model.h if settings.get("n_layer") else model.base_model.layers:
            layer.compile()
    return model


def iteration(run):
    """A function that trains the run's model for one iteration, and versions."""
    model = make_model(run)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    shape = (run["micro_batch"], run["sequence"])
    tokens = torch.randint(run["sizes"]["vocab_size"], shape, device="cuda")
    is_mixed = run["weights"] == "fp32"

    def iterate():
        for _ in range(run["micro_batches"]):
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=is_mixed):
                loss = model(input_ids=tokens, labels=tokens).loss / run["micro_batches"]
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return iterate, {"transformers": transformers.__version__}
