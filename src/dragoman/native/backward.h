// The backward pass of a recurrent loop; gradients of weights are products over all positions at once.
#pragma once

#include "attention.h"
#include "cells.h"
#include "loop.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>

namespace {

// Gradients of what the forward pass returned; undefined ones are zero.
struct OutputGradients {
  Tensor outputs, hidden, memory, contexts, weights, fed;
};

// Sums over rows.
template <typename Real>
Tensor column_sums(const Tensor& rows) {
  const int64_t count = rows.size(0), size = rows.size(1);
  const Tensor sums = at::zeros({size}, rows.options());
  Real* sum = write<Real>(sums);
  const Real* numbers = read<Real>(rows);
  for (int64_t row = 0; row < count; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < size; ++j) sum[j] += numbers[row * size + j];
  }
  return sums;
}

// sum += alive * added, row by row.
template <typename Real>
void add_alive(const Tensor& sum, const Real* added, const Real* alive) {
  Real* to = write<Real>(sum);
  const int64_t size = sum.size(1);
  over_rows(sum.size(0), size, [=](int64_t row) {
    const Real on = alive ? alive[row] : Real(1);
#pragma omp simd
    for (int64_t j = 0; j < size; ++j) to[row * size + j] += on * added[row * size + j];
  });
}

template <typename Real>
class BackwardLoop {
 public:
  BackwardLoop(const Loop& loop, const Tensor& inputs, const Saved& saved, const OutputGradients& grad)
      : loop_(loop), shape_(loop, inputs), options_(inputs.options()), inputs_(inputs), saved_(saved), grad_(grad) {
    const auto [time, batch, input_size, layers, gates, hidden, width] = shape_;
    grad_input_gates_ = at::empty({layers, time, batch, gates}, options_);
    grad_hidden_gates_ = loop.lstm ? grad_input_gates_ : at::empty({layers, time, batch, gates}, options_);
    grad_hidden_ = at::zeros({layers, batch, width}, options_);
    if (grad.hidden.defined()) grad_hidden_.copy_(grad.hidden);
    grad_memory_ = loop.lstm ? at::zeros({layers, batch, hidden}, options_) : at::empty({0}, options_);
    if (loop.lstm && grad.memory.defined()) grad_memory_.copy_(grad.memory);
    from_gates_ = at::empty({batch, width}, options_), from_query_ = at::empty({batch, width}, options_);
    for (int64_t layer = 0; layer < layers; ++layer) {
      hidden_products_.emplace_back(loop.for_steps(loop.layers[layer].hidden_weight));
      input_gates_.push_back(grad_input_gates_[layer].unbind(0));
      hidden_gates_.push_back(grad_hidden_gates_[layer].unbind(0));
    }
    grad_states_ = grad_hidden_.unbind(0);
    if (!loop.projection.defined()) return;
    grad_projected_ = at::empty({time, batch, width}, options_);
    grad_unprojected_ = at::empty({batch, hidden}, options_);
    projection_ = Product(loop.for_steps(loop.projection));
  }

  // Returns the gradients of the inputs, of both parts of the first state, of the layers' weights and the projection, and of
  // the defined tensors of the source.
  Tensors run() {
    if (loop_.attends() == Attends::never) {
      run_without_attention();
    } else {
      prepare_attention();
      run_attending();
    }
    const Tensor weight = loop_.layers[0].input_weight.narrow(1, 0, shape_.inputs);
    const Tensor grad_inputs = loop_.times(as_rows(grad_input_gates_[0]), weight).view(inputs_.sizes());
    Tensors results{grad_inputs, grad_hidden_, grad_memory_};
    for (const Tensors& part : {weight_gradients(), source_gradients()}) results.insert(results.end(), part.begin(), part.end());
    return results;
  }

 private:
  void run_without_attention() {
    Tensor above = grad_.outputs;
    for (int64_t layer = shape_.layers - 1; layer >= 0; --layer) {
      for (int64_t number = shape_.time - 1; number >= 0; --number) {
        const int64_t time = loop_.time_of(number, shape_.time);
        const Real* alive = layer == shape_.layers - 1 ? alive_at(time) : nullptr;
        if (above.defined()) {
          add_alive<Real>(grad_states_[layer], read<Real>(above) + time * shape_.batch * shape_.width, alive);
        }
        step(layer, time);
      }
      if (!layer) continue;
      above = loop_.times(as_rows(grad_input_gates_[layer]), loop_.layers[layer].input_weight);
      if (loop_.keep.defined()) above.mul_(loop_.keep[layer - 1].view(above.sizes()));
    }
  }

  void run_attending() {
    const Tensor& top = grad_states_[shape_.layers - 1];
    const bool before = loop_.attends() == Attends::before;
    for (int64_t time = shape_.time - 1; time >= 0; --time) {
      if (grad_.outputs.defined()) add_to<Real>(top, read<Real>(grad_.outputs) + time * top.numel());
      if (!before) {
        feed_backward(time);
        attend_to_source_backward(time, time + 1);
      }
      for (int64_t layer = shape_.layers - 1; layer >= 0; --layer) {
        step(layer, time);
        if (layer) pass_below(layer, time);
      }
      entering_product_(before ? from_entering_ : grad_fed_, input_gates_[0][time]);
      if (!before) continue;
      if (loop_.keep_context.defined()) {
        multiply_into<Real>(from_entering_, read<Real>(from_entering_), read<Real>(loop_.keep_context) + time * from_entering_.numel());
      }
      add_to<Real>(grad_contexts_[time], read<Real>(from_entering_));
      attend_to_source_backward(time, time);
    }
  }

  void prepare_attention() {
    const Source& source = loop_.source;
    const int64_t time = shape_.time, batch = shape_.batch;
    attention_ = {batch, source.keys.size(1), source.keys.size(2), source.values.size(2), source.scale};
    grad_contexts_ = grad_.contexts.defined() ? grad_.contexts.clone() : at::zeros({time, batch, attention_.values}, options_);
    grad_queries_ = at::empty({time, batch, attention_.width}, options_);
    grad_scores_ = at::empty({time, batch, attention_.source}, options_);
    if (source.energy.defined()) {
      grad_keys_ = at::zeros(source.keys.sizes(), options_);
      grad_energies_ = at::zeros({batch, attention_.width}, options_);
    }
    from_entering_ = at::empty({batch, attention_.values}, options_);
    entering_product_ = Product(loop_.for_steps(entering_weight(loop_, shape_.inputs)));
    if (source.query.defined()) query_product_ = Product(loop_.for_steps(source.query));
    for (int64_t layer = 1; layer < shape_.layers; ++layer) {
      layer_products_.emplace_back(loop_.for_steps(loop_.layers[layer].input_weight));
    }
    if (loop_.attends() == Attends::before) return;
    const int64_t size = source.combine.size(0);
    grad_fed_ = at::zeros({batch, size}, options_);
    grad_combined_ = at::empty({time, batch, size}, options_);
    combine_context_ = Product(loop_.for_steps(source.combine.narrow(1, 0, attention_.values)));
    combine_state_ = Product(loop_.for_steps(source.combine.narrow(1, attention_.values, shape_.width)));
  }

  const Real* alive_at(int64_t time) const {
    return loop_.alive.defined() ? read<Real>(loop_.alive) + time * shape_.batch : nullptr;
  }

  // Turns the gradient of a layer's state after a step into that of its state before, and writes the gradients of the gates.
  void step(int64_t layer, int64_t time) {
    const auto at = [&](int64_t index, int64_t size) { return shape_.offset(layer, shape_.time + 1, index, size); };
    const int64_t before = loop_.index_before(time), after = loop_.index_after(time);
    const Real* kept = read<Real>(saved_.kept) + shape_.offset(layer, shape_.time, time, 4 * shape_.hidden);
    const CellShape cells{shape_.batch, shape_.hidden};
    const Tensor& grad_state = grad_states_[layer];
    Real* grad_gates = write<Real>(input_gates_[layer][time]);
    if (loop_.lstm) {
      const Real* memories = read<Real>(saved_.memories);
      const Tensor grad_cells = loop_.projection.defined() ? unprojected(time) : grad_state;
      Real* grad_memory = write<Real>(grad_memory_) + layer * shape_.batch * shape_.hidden;
      lstm_backward<Real>(cells, kept, memories + at(before, shape_.hidden), memories + at(after, shape_.hidden), alive_at(time),
                          {write<Real>(grad_cells), grad_memory}, grad_gates);
    } else {
      gru_backward<Real>(cells, kept, read<Real>(saved_.states) + at(before, shape_.hidden), alive_at(time),
                         write<Real>(grad_state), grad_gates, write<Real>(hidden_gates_[layer][time]));
    }
    hidden_products_[layer](from_gates_, hidden_gates_[layer][time]);
    if (loop_.projection.defined()) {
      grad_state.copy_(from_gates_);
    } else {
      add_to<Real>(grad_state, read<Real>(from_gates_));
    }
  }

  // The gradient of o tanh(c); that of the projected state is saved for the projection's gradient.
  Tensor unprojected(int64_t time) {
    grad_projected_[time].copy_(grad_states_[0]);
    projection_(grad_unprojected_, grad_states_[0]);
    return grad_unprojected_;
  }

  // Adds to the gradient of the states below a layer.
  void pass_below(int64_t layer, int64_t time) {
    layer_products_[layer - 1](from_gates_, input_gates_[layer][time]);
    const Real* added = read<Real>(from_gates_);
    const Real* keep = loop_.keep.defined()
                           ? read<Real>(loop_.keep) + shape_.offset(layer - 1, shape_.time, time, shape_.hidden)
                           : nullptr;
    Real* below = write<Real>(grad_states_[layer - 1]);
    for (int64_t i = 0; i < from_gates_.numel(); ++i) below[i] += keep ? added[i] * keep[i] : added[i];
  }

  // From the gradient of an attentional vector to those of its context and its state.
  void feed_backward(int64_t time) {
    const Tensor combined = grad_combined_[time];
    const Real *fed = read<Real>(saved_.fed) + (time + 1) * combined.numel(), *later = read<Real>(grad_fed_);
    const Real* own = grad_.fed.defined() ? read<Real>(grad_.fed) + time * combined.numel() : nullptr;
    Real* to = write<Real>(combined);
    for (int64_t i = 0; i < combined.numel(); ++i) {
      to[i] = ((own ? own[i] : Real(0)) + later[i]) * (Real(1) - fed[i] * fed[i]);
    }
    combine_context_(from_entering_, combined);
    add_to<Real>(grad_contexts_[time], read<Real>(from_entering_));
    combine_state_(from_query_, combined);
    add_to<Real>(grad_states_[shape_.layers - 1], read<Real>(from_query_));
  }

  // From the gradient of a context to that of the state that was the query, at `index` of the states.
  void attend_to_source_backward(int64_t time, int64_t index) {
    const Source& source = loop_.source;
    const Tensor& top = grad_states_[shape_.layers - 1];
    const bool projected = source.query.defined();
    const int64_t queries_at = time * shape_.batch * attention_.width, keys_at = time * shape_.batch * attention_.source;
    const Real* queries = projected ? read<Real>(saved_.queries) + queries_at
                                    : read<Real>(saved_.states) + shape_.offset(shape_.layers - 1, shape_.time + 1, index, shape_.width);
    const Real* grad_weights = grad_.weights.defined() ? read<Real>(grad_.weights) + keys_at : nullptr;
    Real* grad_query = write<Real>(grad_queries_) + queries_at;
    attend_backward<Real>(
        attention_,
        {read<Real>(source.keys), read<Real>(source.values), source.real.const_data_ptr<bool>(), read<Real>(source.energy)},
        queries, read<Real>(saved_.weights) + keys_at, read<Real>(grad_contexts_) + time * shape_.batch * attention_.values,
        grad_weights,
        {write<Real>(grad_scores_) + keys_at, grad_query, write<Real>(grad_keys_), write<Real>(grad_energies_)});
    if (!projected) {
      add_to<Real>(top, grad_query);
      return;
    }
    if (source.squashed) {
      for (int64_t i = 0; i < shape_.batch * attention_.width; ++i) grad_query[i] *= Real(1) - queries[i] * queries[i];
    }
    query_product_(from_query_, grad_queries_[time]);
    add_to<Real>(top, read<Real>(from_query_));
  }

  // The first layer's other inputs (contexts or fed vectors), as rows; undefined without attention.
  Tensor entered() const {
    if (loop_.attends() == Attends::never) return Tensor();
    if (loop_.attends() == Attends::after) return as_rows(saved_.fed.narrow(0, 0, shape_.time));
    return as_rows(loop_.keep_context.defined() ? saved_.contexts * loop_.keep_context : saved_.contexts);
  }

  Tensors weight_gradients() const {
    Tensors results;
    const Tensor beside_inputs = entered();
    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      const Tensor input_gates = as_rows(grad_input_gates_[layer]), hidden_gates = as_rows(grad_hidden_gates_[layer]);
      const Tensor gates = input_gates.t();
      const Tensor entering = layer ? loop_.entering_from_below(saved_.states, layer) : as_rows(inputs_);
      Tensor input_weight = loop_.times(gates, entering);
      if (!layer && beside_inputs.defined()) input_weight = at::cat({input_weight, loop_.times(gates, beside_inputs)}, 1);
      const Tensor bias = column_sums<Real>(input_gates);
      results.push_back(input_weight);
      results.push_back(bias);
      results.push_back(loop_.times(hidden_gates.t(), loop_.states_before(saved_.states, layer)));
      results.push_back(loop_.lstm ? bias.clone() : column_sums<Real>(hidden_gates));
    }
    if (loop_.projection.defined()) results.push_back(loop_.times(as_rows(grad_projected_).t(), as_rows(saved_.unprojected)));
    return results;
  }

  // Gradients of keys, values and, if defined, of query, energy, combine and the first fed vector.
  Tensors source_gradients() const {
    const Source& source = loop_.source;
    if (loop_.attends() == Attends::never) return {};
    const bool projected = source.query.defined();
    const int64_t top = shape_.layers - 1;
    const Tensor asking = loop_.attends() == Attends::before ? loop_.states_before(saved_.states, top)
                                                             : loop_.states_after(saved_.states, top);
    Tensor keys = grad_keys_;
    if (!source.energy.defined()) {
      const Tensor queries = projected ? saved_.queries : asking.view({shape_.time, shape_.batch, shape_.width});
      keys = at::bmm(grad_scores_.permute({1, 2, 0}), queries.transpose(0, 1));
    }
    Tensors results{keys, at::bmm(saved_.weights.permute({1, 2, 0}), grad_contexts_.transpose(0, 1))};
    if (projected) results.push_back(loop_.times(as_rows(grad_queries_).t(), asking));
    if (source.energy.defined()) results.push_back(column_sums<Real>(grad_energies_));
    if (loop_.attends() == Attends::before) return results;
    results.push_back(loop_.times(as_rows(grad_combined_).t(), at::cat({as_rows(saved_.contexts), asking}, 1)));
    results.push_back(grad_fed_);
    return results;
  }

  const Loop& loop_;
  const LoopShape shape_;
  const at::TensorOptions options_;
  const Tensor inputs_;
  const Saved& saved_;
  const OutputGradients& grad_;
  AttentionShape attention_{};
  Tensor grad_input_gates_, grad_hidden_gates_;         // (layer, time, batch, gates); the same for an LSTM
  std::vector<Tensors> input_gates_, hidden_gates_;     // of each layer, at each time
  Tensor grad_hidden_, grad_memory_;                    // (layer, batch, size), of the state at the current time
  Tensors grad_states_;                                 // grad_hidden_ of each layer
  Tensor grad_projected_, grad_unprojected_;
  Tensor grad_contexts_, grad_queries_, grad_scores_, grad_keys_, grad_energies_, grad_fed_, grad_combined_;
  std::vector<Product> hidden_products_, layer_products_;
  Product projection_, entering_product_, query_product_, combine_context_, combine_state_;
  Tensor from_gates_, from_query_, from_entering_;      // results of products
};

}  // namespace
