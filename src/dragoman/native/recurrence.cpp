// A recurrent loop over a whole sequence, with or without attention, and its hand-written backward pass, as torch
// operations.
#include "backward.h"
#include "forward.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

namespace {

using OptionalTensors = c10::List<std::optional<Tensor>>;

Tensor at_or_none(const OptionalTensors& list, size_t index) { return list.get(index).value_or(Tensor()); }

// weights: input_weight, input_bias, hidden_weight and hidden_bias of each layer, then the projection, if any; the first
// input_weight multiplies the inputs followed by the other input (context or fed vector). masks: alive, keep, keep_context.
// source: keys, values, real, query, energy, combine, fed.
Loop loop_of(const Tensors& weights, const OptionalTensors& masks, const OptionalTensors& source) {
  Loop loop;
  for (size_t first = 0; first + 4 <= weights.size(); first += 4) {
    loop.layers.push_back({weights[first], weights[first + 1], weights[first + 2], weights[first + 3]});
  }
  if (weights.size() % 4) loop.projection = weights.back();
  loop.alive = at_or_none(masks, 0), loop.keep = at_or_none(masks, 1), loop.keep_context = at_or_none(masks, 2);
  loop.source = {at_or_none(source, 0), at_or_none(source, 1), at_or_none(source, 2), at_or_none(source, 3),
                 at_or_none(source, 4), at_or_none(source, 5), at_or_none(source, 6)};
  return loop;
}

// first: hidden vectors (layer, batch, width) and, for LSTMs, memories (layer, batch, hidden). Returns outputs, the last
// hidden vectors and memories, and what `backward` needs; outputs share memory with it.
Tensors forward(const Tensor& inputs, const Tensors& first, const Tensors& weights, const OptionalTensors& masks,
                const OptionalTensors& source, bool reverse, bool low, bool squashed, double scale) {
  const at::AutoDispatchBelowADInplaceOrView below;
  Loop loop = loop_of(weights, masks, source);
  loop.lstm = first.size() == 2, loop.reverse = reverse, loop.low = low;
  loop.source.squashed = squashed, loop.source.scale = scale;
  if (inputs.scalar_type() == at::kDouble) return ForwardLoop<double>(loop, inputs, first).run();
  return ForwardLoop<float>(loop, inputs, first).run();
}

// gradients: of outputs, last hidden vectors, last memories, contexts, weights and attentional vectors; undefined means zero.
Tensors backward(const Tensor& inputs, const Tensors& saved, const OptionalTensors& gradients, const Tensors& weights,
                 const OptionalTensors& masks, const OptionalTensors& source, bool reverse, bool low, bool squashed,
                 double scale) {
  const at::AutoDispatchBelowADInplaceOrView below;
  Loop loop = loop_of(weights, masks, source);
  const Saved kept = Saved::from(saved);
  loop.lstm = kept.memories.numel() > 0, loop.reverse = reverse, loop.low = low;
  loop.source.squashed = squashed, loop.source.scale = scale;
  const auto ready = [&](size_t index) {
    const Tensor given = at_or_none(gradients, index);
    return given.defined() ? given.contiguous() : given;
  };
  const OutputGradients grad{ready(0), ready(1), ready(2), ready(3), ready(4), ready(5)};
  if (inputs.scalar_type() == at::kDouble) return BackwardLoop<double>(loop, inputs, kept, grad).run();
  return BackwardLoop<float>(loop, inputs, kept, grad).run();
}

}  // namespace

TORCH_LIBRARY(dragoman_native, library) {
  library.def("forward", torch::dispatch(c10::DispatchKey::CPU, &forward));
  library.def("backward", torch::dispatch(c10::DispatchKey::CPU, &backward));
}
