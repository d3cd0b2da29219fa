/// The time of one training iteration: `vtrain predict` as a library.
///
/// `resolve_target` makes a `Target` of names: the GPU profile (`h100`, or a file), the software stack
/// (`megatron-core`), the calibration and the nodes. `predict` then gives a model's iteration time with a
/// parallel plan, its breakdown, the times of the stages, and the memory of a GPU.
///
///     auto target = vtrain::resolve_target({.profile = "h100", .stack = "megatron-core"});
///     auto model = vtrain::find_model("llama3-8b");
///     vtrain::ParallelPlan plan{.data = 8, .global_batch = 64, .micro_batch = 1};
///     auto prediction = vtrain::predict(model->model(), plan, *target);
///     double seconds = vtrain::Seconds(prediction->times.iteration).count();
///
/// `Prediction::provenance` lists the sources of a prediction and its extrapolated parts. `Semantics` is the
/// predictor: the physical one, or the arithmetic of the public vTrain release. Threads may share a target.
/// Errors name the field of the plan, the profile or the stack; no exception leaves these functions. The
/// search for a plan is `vtrain/plan.hpp`.
#pragma once

#include "workloads/model/zoo.hpp"
#include "workloads/predict.hpp"
#include "workloads/target.hpp"
