// The data of a recurrent loop: its weights, its masks, its sizes, and the source of its attention.
//
// Rows of a batch are independent, time comes first in every tensor: (time, batch, size).
#pragma once

#include "arithmetic.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

namespace {

// never: no attention. before: attend with the state before the step; the context is another input of the step (Bahdanau et al.
// 2015). after: step, attend with the new state, feed tanh(combine [context; state]) into the next step (Luong et al. 2015).
enum class Attends { never, before, after };

struct Layer {
  Tensor input_weight, input_bias, hidden_weight, hidden_bias;
};

// Prepared keys and values, where they are real, and the parts of the score; unused tensors are undefined.
struct Source {
  Tensor keys, values, real;
  Tensor query, energy;   // query: projects states to queries; energy: v of an additive score
  Tensor combine, fed;    // after: the weight of the attentional vector, and the vector fed into the first step
  bool squashed;          // queries are the tanh of projected states
  double scale;
};

struct Loop {
  std::vector<Layer> layers;
  Tensor projection;    // (width, hidden): the output of the single layer is this times o tanh(c) (Sak et al. 2014)
  Tensor alive;         // (time, batch): 0 where the state is unchanged
  Tensor keep;          // (layer - 1, time, batch, hidden): dropout factors between layers
  Tensor keep_context;  // (time, batch, values): dropout factors of contexts as inputs
  Source source;
  bool lstm, reverse, low;  // low: products in bfloat16

  Attends attends() const {
    if (!source.keys.defined()) return Attends::never;
    return source.combine.defined() ? Attends::after : Attends::before;
  }

  // Indices in the states (time + 1) of those before and after a step.
  int64_t index_before(int64_t time) const { return reverse ? time + 1 : time; }
  int64_t index_after(int64_t time) const { return reverse ? time : time + 1; }
  int64_t time_of(int64_t step, int64_t steps) const { return reverse ? steps - 1 - step : step; }

  // A matrix prepared for the products of single steps.
  Tensor for_steps(const Tensor& matrix) const { return low ? matrix.to(at::kBFloat16) : matrix; }
  Tensor times(const Tensor& rows, const Tensor& matrix) const { return product(rows, matrix, low); }

  // The states (layer, time + 1, batch, width) before and after each step, as rows.
  Tensor states_before(const Tensor& states, int64_t layer) const { return span(states, layer, reverse ? 1 : 0); }
  Tensor states_after(const Tensor& states, int64_t layer) const { return span(states, layer, reverse ? 0 : 1); }

  // The input of every layer but the first: the states below after dropout.
  Tensor entering_from_below(const Tensor& states, int64_t layer) const {
    const Tensor below = states_after(states, layer - 1);
    return keep.defined() ? below * keep[layer - 1].view(below.sizes()) : below;
  }

 private:
  Tensor span(const Tensor& states, int64_t layer, int64_t start) const {
    return states[layer].narrow(0, start, states.size(1) - 1).view({-1, states.size(3)});
  }
};

struct LoopShape {
  int64_t time, batch, inputs, layers, gates;
  int64_t hidden;  // cells of a layer
  int64_t width;   // of a state; equal to `hidden` without a projection

  LoopShape(const Loop& loop, const Tensor& x)
      : time(x.size(0)), batch(x.size(1)), inputs(x.size(2)), layers(loop.layers.size()),
        gates(loop.layers[0].hidden_weight.size(0)), hidden(gates / (loop.lstm ? 4 : 3)),
        width(loop.layers[0].hidden_weight.size(1)) {}

  // The data of one layer and time in (layer, times, batch, size).
  int64_t offset(int64_t layer, int64_t times, int64_t at, int64_t size) const { return (layer * times + at) * batch * size; }
};

// The part of the first layer's input weight for the other input.
inline Tensor entering_weight(const Loop& loop, int64_t inputs) {
  const Tensor& weight = loop.layers[0].input_weight;
  return weight.narrow(1, inputs, weight.size(1) - inputs);
}

inline Tensor as_rows(const Tensor& tensor) { return tensor.reshape({-1, tensor.size(-1)}); }

template <typename Real>
void multiply_into(const Tensor& out, const Real* left, const Real* right) {
  Real* o = write<Real>(out);
  for (int64_t i = 0; i < out.numel(); ++i) o[i] = left[i] * right[i];
}

// What the forward pass saves for the gradient; unused tensors are empty.
struct Saved {
  Tensor states;       // (layer, time + 1, batch, width)
  Tensor kept;         // (layer, time, batch, 4 hidden): saved by the cells
  Tensor memories;     // (layer, time + 1, batch, hidden), of an LSTM
  Tensor contexts;     // (time, batch, values)
  Tensor weights;      // (time, batch, source)
  Tensor fed;          // (time + 1, batch, size): attentional vectors, the first of which is given
  Tensor queries;      // (time, batch, width)
  Tensor unprojected;  // (time, batch, hidden): o tanh(c)

  static Saved from(const Tensors& list) {
    return {list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7]};
  }
  Tensors list() const {
    Tensors all{states, kept, memories, contexts, weights, fed, queries, unprojected};
    for (Tensor& tensor : all) {
      if (!tensor.defined()) tensor = at::empty({0}, states.options());
    }
    return all;
  }
};

}  // namespace
