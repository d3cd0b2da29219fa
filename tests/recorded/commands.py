"""The commands whose outputs are recorded. `project/` is the checkout, `shared/` the folder of third-party data beside it, and
`shared_*.json` are measured runs of it that were normalised. A command that begins with `normalise` is of that program."""

import pathlib

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus"

# Traces that the other commands read.
SETUP = [
    "trace generate --jobs 250 --cluster 8x8:a100 --load 1.1 --seed 3 --assign lingjun --deadlines none --out llm.csv",
    "trace generate --jobs 400 --cluster 8x8:a100 --load 1.2 --seed 5 --assign none --deadlines none --estimates lognormal:0.5 --out rigid.csv",
    "trace convert llm.csv --deadlines 0.8:2,best-effort=0.1 --estimates factor:1.5 --tenants 3 --seed 4 --out deadlines.csv",
    "trace slice llm.csv --max-jobs 60 --out few.csv",
]

# Measured runs that are normalised before the other commands run, by the name of the file that is written.
NORMALISED = {"shared_cases.json": "shared/data/measured/cases.json", "shared_multi.json": "shared/data/vtrain/ground_truth_multi.csv"}

POLICIES = ["fifo", "fit-first", "sjf", "srtf", "srsf", "las", "'las:attained=time,queues=1000;5000'", "elasticflow-las:slot=2m",
            "gittins:distribution=shared/golden/tiresias/yarn-gput1000.csv", "edf", "edf:resize=no", "elasticflow-edf",
            "edf-admission", "elasticflow", "elasticflow:admission=batch,greedy=largest,overhead=table", "chronus", "easy-fast",
            "easy", "easy:order=asc-walltime", "conservative", "easy:planning=hosts", "easy:order=asc-walltime,planning=hosts",
            "conservative:planning=hosts"]
PLACEMENTS = ["count", "yarn", "best-fit", "consolidate", "consolidate-strict", "buddy", "fgd"]
FAILURES = ["", " --failures mtbf=40h,repair=2h --checkpoints daly --interruption-cost 60s --seed 9"]
TRACES = {"deadlines.csv": "8x8:a100", "rigid.csv": "6x8:a100"}

MIXED = "4x8:a100+4x8:h100"
MODELS = """
bert-base bert-large gpt2-124m gpt2-355m gpt2-774m gpt2-1.5b gpt3-125m gpt3-350m gpt3-760m gpt3-1.3b gpt3-2.7b gpt3-5b
gpt3-6.7b gpt3-13b gpt3-20b gpt3-175b megatron-1.7b megatron-3.6b megatron-7.5b megatron-18.4b megatron-39.1b
megatron-76.1b megatron-145.6b megatron-310.1b megatron-529.6b megatron-1008b mtnlg-530b gpt-neox-20b opt-125m opt-1.3b
opt-2.7b opt-6.7b opt-13b opt-30b opt-66b opt-175b mpt-125m mpt-350m mpt-760m mpt-1b mpt-3b mpt-7b mpt-13b mpt-30b
mpt-70b llama2-7b llama2-13b llama2-70b llama3-8b llama3-70b llama3.1-8b llama3.1-70b llama3.1-405b llama3.2-1b
llama3.2-3b mistral-7b mixtral-8x7b mixtral-8x22b qwen2-0.5b qwen2-1.5b qwen2-7b qwen2-72b qwen2.5-0.5b qwen2.5-1.5b
qwen2.5-3b qwen2.5-7b qwen2.5-14b qwen2.5-32b qwen2.5-72b qwen3-0.6b qwen3-1.7b qwen3-4b qwen3-8b qwen3-14b qwen3-32b
qwen3-30b-a3b qwen3-235b-a22b deepseek-v2-lite deepseek-v2 deepseek-v3 kimi-k2 gpt-oss-20b gpt-oss-120b nemotron-3-nano
nemotron-3-super nemotron-3-ultra nemotron-h-56b nemotron-8b nemotron-22b nemotron4-15b nemotron4-340b grok-1
""".split()
FORMATS_WRITTEN = {"vtrain": "csv", "jsonl": "jsonl", "batsim": "json", "swf": "swf"}
SHARED_TRACES = ["acme/cluster_summary.csv", "alibaba-openb-2023/openb_pod_list_default.csv.gz", "chronus/trace_job_Philly_SLO.csv.gz",
                 "elasticflow/philly_103959.csv.gz", "gavel/msr_seed0_0e4a51.trace.gz", "gavel/physical_small_test.trace", "itp/cluster01.csv.gz",
                 "itp/cluster07.csv.gz", "muri/trace1.csv.gz", "philly/philly_pollux.csv.gz", "philly/philly_reconstructed.csv.gz",
                 "shockwave/120_0.2_5_100_40_25_0-0.5-0.5_0.6-0.3-0.09-0.01_multigpu_dynamic.trace.gz", "swf/sdsc_sp2_sample.swf"]


def replays():
    for trace, cluster in TRACES.items():
        for policy in POLICIES:
            for placement in PLACEMENTS:
                for failures in FAILURES:
                    if failures and placement == "count":
                        continue  # it knows no nodes that could fail
                    yield f"replay --trace {trace} --cluster {cluster} --policy {policy} --placement {placement}{failures} --out run"
    for policy in POLICIES:
        yield f"replay --trace deadlines.csv --cluster {MIXED} --run-times predicted --policy {policy} --json"
        yield f"replay --trace deadlines.csv --cluster 8x8:h100 --run-times predicted --policy {policy} --placement consolidate --spread-factor 0.9 --json"
        yield f"replay --trace shared/golden/tiresias/syn480.csv --cluster 8x8 --policy {policy} --deadlines 1:3 --json"
    for policy in ("recorded", "fifo", "easy", "srtf"):
        yield f"replay --trace shared/data/traces/swf/sdsc_sp2_sample.swf --cluster 128x1 --policy {policy} --json"
        yield f"replay --trace shared/data/traces/itp/cluster07.csv.gz --cluster 64x8 --policy {policy} --json"
    yield "replay --trace shared/data/traces/alibaba-openb-2023/openb_pod_list_default.csv.gz --cluster shared/data/traces/alibaba-openb-2023/openb_node_list_all_node.csv.gz --policy fit-first --placement fgd --json"
    yield "compare"
    yield "compare --trace deadlines.csv --cluster 8x8:a100 --policies fifo,easy,srtf,edf,elasticflow --threads 2 --out run --timeline always"
    yield "compare --placement yarn --failures mtbf=100h,repair=4h --checkpoints daly"
    yield "compare --trace shared/data/traces/itp/cluster04.csv.gz --cluster 128x8:a100 --assign lingjun --policies edf,elasticflow"
    yield "compare --trace few.csv --cluster 2x8:a100 --policies nope"
    yield "replay --trace few.csv --cluster 2x8:a100 --policy easy:order=nope"
    log = "validate-schedule project/docs/slurm_log/sacct.txt --cluster project/docs/slurm_log/slurm.conf"
    yield f"{log} --policies slurm:folder=project/docs/slurm_log,fifo,easy --by size --out run"
    yield "validate-schedule shared/data/traces/swf/sdsc_sp2_sample.swf --cluster 16x8 --json"


def predictions():
    for profile in ("a100", "h100", "b200"):
        for model in MODELS:
            yield f"plan {model} --gpus 256 --global-batch 512 --profile {profile} --top 3 --json"
    for stack in ("megatron-2021", "megatron-core", "torchtitan", "deepspeed-megatron", "fsdp-eager", "nemo-automodel"):
        for model in ("gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3", "nemotron-h-56b"):
            yield f"plan {model} --gpus 512 --global-batch 1024 --profile h100 --stack {stack} --json"
    yield "plan mtnlg-530b --gpus 3360 --global-batch 1920 --top 5"
    yield "plan llama3-70b --gpus 64,128,256 --global-batch 1024 --profile h100 --tokens 1T --price 2.5"
    yield "plan llama3-8b --gpus 16 --cluster 2x8:h100 --global-batch 128 --zero-bubble --partial-recompute --out best.json"
    yield "scale --gpus 512 --days 30"
    yield "predict project/tests/fuzz/corpus/predict_config --json"
    for path in sorted((CORPUS / "predict_config").iterdir()) + sorted((CORPUS / "vtrain_config").iterdir()):
        yield f"predict project/tests/fuzz/corpus/{path.parent.name}/{path.name} --json --timeline timeline.json --graph graph.dot"
    for record in ("torchtitan", "torchtitan_aws", "nemo_24.07", "nemo_25", "fms_fsdp", "kempnerforge", "korthikanti_2022"):
        yield f"validate project/docs/measured/{record}.json"
        yield f"validate project/docs/measured/{record}.json --json --predictions predictions.csv"
    yield "validate shared_cases.json --json --predictions predictions.csv"
    yield "validate shared_multi.json --json"
    for raw in ("shared/data/measured/cases.json", "shared/data/vtrain/ground_truth_multi.csv", "project/tests/fuzz/corpus/raw_case/own_run.json"):
        yield f"normalise {raw}"
    yield "validate project/tests/fuzz/corpus/raw_case/own_run.json"
    yield "models --json"
    yield "policies --json"
    yield "policies"
    yield "clusters"
    yield "profile list"
    for profile in ("a100", "h100", "b200", "gb300", "v100-sxm3"):
        yield f"profile show {profile} --json"


def formats():
    for folder in sorted(CORPUS.iterdir()):
        for path in sorted(folder.iterdir())[:4]:
            if folder.name in ("unzstd", "gunzip", "csv"):
                continue
            name = f"project/tests/fuzz/corpus/{folder.name}/{path.name}"
            yield f"trace info {name} --json"
    for trace in SHARED_TRACES:
        yield f"trace info shared/data/traces/{trace} --json"
        yield f"trace convert shared/data/traces/{trace} --out out.csv"
    for to, ending in FORMATS_WRITTEN.items():
        yield f"trace convert rigid.csv --to {to} --out out.{ending}"
        yield f"trace convert shared/data/traces/itp/cluster07.csv.gz --to {to} --out out.{ending}"
    yield "trace info llm.csv --cluster 8x8:a100"
    yield "trace info rigid.csv"
    yield "trace slice rigid.csv --from 12h --until 30h --out out.csv"
    yield "trace fit rigid.csv --out shape.json"


def commands():
    return [*replays(), *predictions(), *formats()]
