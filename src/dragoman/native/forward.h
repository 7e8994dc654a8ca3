// The forward pass of a recurrent loop. Products with the inputs are computed for all positions at once, outside the loop.
#pragma once

#include "attention.h"
#include "cells.h"
#include "loop.h"

#include <ATen/ops/zeros_like.h>

namespace {

template <typename Real>
class ForwardLoop {
 public:
  ForwardLoop(const Loop& loop, const Tensor& inputs, const Tensors& first)
      : loop_(loop), shape_(loop, inputs), options_(inputs.options()) {
    const auto [time, batch, input_size, layers, gates, hidden, width] = shape_;
    saved_.states = at::empty({layers, time + 1, batch, width}, options_);
    saved_.kept = at::empty({layers, time, batch, 4 * hidden}, options_);
    if (loop.lstm) saved_.memories = at::empty({layers, time + 1, batch, hidden}, options_);
    if (loop.projection.defined()) saved_.unprojected = at::empty({time, batch, hidden}, options_);
    const int64_t start = loop.reverse ? time : 0;
    saved_.states.select(1, start).copy_(first[0]);
    if (loop.lstm) saved_.memories.select(1, start).copy_(first[1]);
    for (int64_t layer = 0; layer < layers; ++layer) {
      hidden_products_.emplace_back(loop.for_steps(loop.layers[layer].hidden_weight).t());
      states_.push_back(saved_.states[layer].unbind(0));
    }
    if (loop.projection.defined()) projection_ = Product(loop.for_steps(loop.projection).t());
    from_hidden_ = at::empty({batch, gates}, options_), zeros_ = at::zeros({batch, gates}, options_);
    const Tensor weight = loop.layers[0].input_weight.narrow(1, 0, input_size);
    from_inputs_ = loop.times(inputs.view({time * batch, input_size}), weight.t());
  }

  // Returns the last layer's states, the parts of the state after the last step, and what is saved.
  Tensors run() {
    if (loop_.attends() == Attends::never) {
      run_without_attention();
    } else {
      prepare_attention();
      run_attending();
    }
    const int64_t end = loop_.reverse ? 0 : shape_.time;
    Tensor outputs = loop_.states_after(saved_.states, shape_.layers - 1).view({shape_.time, shape_.batch, shape_.width});
    if (loop_.alive.defined()) outputs = outputs * loop_.alive.unsqueeze(-1);
    Tensors results{outputs, saved_.states.select(1, end).clone(),
                    loop_.lstm ? saved_.memories.select(1, end).clone() : at::empty({0}, options_)};
    const Tensors saved = saved_.list();
    results.insert(results.end(), saved.begin(), saved.end());
    return results;
  }

 private:
  void run_without_attention() {
    for (int64_t layer = 0; layer < shape_.layers; ++layer) {
      if (layer) {
        const Tensor below = loop_.entering_from_below(saved_.states, layer);
        from_inputs_ = loop_.times(below, loop_.layers[layer].input_weight.t());
      }
      for (int64_t number = 0; number < shape_.time; ++number) {
        const int64_t time = loop_.time_of(number, shape_.time);
        step(layer, time, read<Real>(from_inputs_) + time * shape_.batch * shape_.gates, read<Real>(zeros_));
      }
    }
  }

  void run_attending() {
    const bool before = loop_.attends() == Attends::before;
    const Tensors& top = states_[shape_.layers - 1];
    for (int64_t time = 0; time < shape_.time; ++time) {
      if (before) attend_to_source(time, top[time]);
      entering_product_(from_entering_, before ? entering_context(time) : fed_[time]);
      step(0, time, read<Real>(from_inputs_) + time * shape_.batch * shape_.gates, read<Real>(from_entering_));
      step_upper_layers(time);
      if (before) continue;
      attend_to_source(time, top[time + 1]);
      feed(time, top[time + 1]);
    }
  }

  void prepare_attention() {
    const Source& source = loop_.source;
    const int64_t time = shape_.time, batch = shape_.batch;
    attention_ = {batch, source.keys.size(1), source.keys.size(2), source.values.size(2), source.scale};
    saved_.weights = at::empty({time, batch, attention_.source}, options_);
    saved_.contexts = at::empty({time, batch, attention_.values}, options_);
    contexts_ = saved_.contexts.unbind(0);
    from_entering_ = at::empty({batch, shape_.gates}, options_), from_below_ = at::empty({batch, shape_.gates}, options_);
    entering_product_ = Product(loop_.for_steps(entering_weight(loop_, shape_.inputs)).t());
    if (loop_.keep.defined()) below_ = at::empty({batch, shape_.hidden}, options_);
    if (loop_.keep_context.defined()) kept_context_ = at::empty({batch, attention_.values}, options_);
    if (source.query.defined()) {
      saved_.queries = at::empty({time, batch, attention_.width}, options_);
      queries_ = saved_.queries.unbind(0);
      query_product_ = Product(loop_.for_steps(source.query).t());
    }
    for (int64_t layer = 1; layer < shape_.layers; ++layer) {
      layer_products_.emplace_back(loop_.for_steps(loop_.layers[layer].input_weight).t());
    }
    if (loop_.attends() == Attends::before) return;
    const int64_t size = source.combine.size(0);
    saved_.fed = at::empty({time + 1, batch, size}, options_);
    saved_.fed[0].copy_(source.fed);
    fed_ = saved_.fed.unbind(0);
    combine_context_ = Product(loop_.for_steps(source.combine.narrow(1, 0, attention_.values)).t());
    combine_state_ = Product(loop_.for_steps(source.combine.narrow(1, attention_.values, shape_.width)).t());
    from_context_ = at::empty({batch, size}, options_), from_state_ = at::empty({batch, size}, options_);
  }

  void step(int64_t layer, int64_t time, const Real* from_input, const Real* from_other) {
    const Layer& weights = loop_.layers[layer];
    const int64_t before = loop_.index_before(time), after = loop_.index_after(time), times = shape_.time + 1;
    const auto at = [&](int64_t index, int64_t size) { return shape_.offset(layer, times, index, size); };
    hidden_products_[layer](from_hidden_, states_[layer][before]);
    const Gates<Real> gates{from_input, from_other, read<Real>(weights.input_bias), read<Real>(from_hidden_),
                            read<Real>(weights.hidden_bias)};
    const Real* alive = loop_.alive.defined() ? read<Real>(loop_.alive) + time * shape_.batch : nullptr;
    const CellShape cells{shape_.batch, shape_.hidden};
    Real* kept = write<Real>(saved_.kept) + shape_.offset(layer, shape_.time, time, 4 * shape_.hidden);
    Real *states = write<Real>(saved_.states), *memories = write<Real>(saved_.memories);
    if (!loop_.lstm) {
      gru_forward<Real>(cells, gates, states + at(before, shape_.width), alive, states + at(after, shape_.width), kept);
      return;
    }
    Real *memory_before = memories + at(before, shape_.hidden), *memory_after = memories + at(after, shape_.hidden);
    if (!loop_.projection.defined()) {
      lstm_forward<Real>(cells, gates, {states + at(before, shape_.width), memory_before}, alive,
                         {states + at(after, shape_.width), memory_after}, kept);
      return;
    }
    // All rows are alive here, so the cells' hidden vectors before the step are multiplied by 0: any numbers will do.
    const Tensor unprojected = saved_.unprojected[time];
    lstm_forward<Real>(cells, gates, {memory_before, memory_before}, nullptr, {write<Real>(unprojected), memory_after}, kept);
    projection_(states_[layer][after], unprojected);
  }

  void step_upper_layers(int64_t time) {
    for (int64_t layer = 1; layer < shape_.layers; ++layer) {
      Tensor below = states_[layer - 1][time + 1];
      if (below_.defined()) {
        const Real* keep = read<Real>(loop_.keep) + shape_.offset(layer - 1, shape_.time, time, shape_.hidden);
        multiply_into<Real>(below_, read<Real>(below), keep);
        below = below_;
      }
      layer_products_[layer - 1](from_below_, below);
      step(layer, time, read<Real>(from_below_), read<Real>(zeros_));
    }
  }

  // The context of a step as an input, after dropout.
  Tensor entering_context(int64_t time) {
    if (!kept_context_.defined()) return contexts_[time];
    const Real* keep = read<Real>(loop_.keep_context) + time * kept_context_.numel();
    multiply_into<Real>(kept_context_, read<Real>(contexts_[time]), keep);
    return kept_context_;
  }

  void attend_to_source(int64_t time, const Tensor& state) {
    const Source& source = loop_.source;
    Tensor query = state;
    if (source.query.defined()) {
      query = queries_[time];
      query_product_(query, state);
      if (source.squashed) squash(query);
    }
    attend<Real>(attention_,
                 {read<Real>(source.keys), read<Real>(source.values), source.real.const_data_ptr<bool>(), read<Real>(source.energy)},
                 read<Real>(query), write<Real>(saved_.weights) + time * attention_.batch * attention_.source,
                 write<Real>(contexts_[time]));
  }

  static void squash(const Tensor& tensor) {
    Real* numbers = write<Real>(tensor);
#pragma omp simd
    for (int64_t i = 0; i < tensor.numel(); ++i) numbers[i] = tanh_of(numbers[i]);
  }

  // The attentional vector, which is an input of the next step.
  void feed(int64_t time, const Tensor& state) {
    combine_context_(from_context_, contexts_[time]);
    combine_state_(from_state_, state);
    const Real *context = read<Real>(from_context_), *own = read<Real>(from_state_);
    Real* fed = write<Real>(fed_[time + 1]);
#pragma omp simd
    for (int64_t i = 0; i < from_context_.numel(); ++i) fed[i] = tanh_of(context[i] + own[i]);
  }

  const Loop& loop_;
  const LoopShape shape_;
  const at::TensorOptions options_;
  AttentionShape attention_{};
  Saved saved_;
  std::vector<Tensors> states_;  // of each layer, at each time
  Tensors contexts_, queries_, fed_;
  std::vector<Product> hidden_products_, layer_products_;
  Product projection_, entering_product_, query_product_, combine_context_, combine_state_;
  Tensor from_inputs_, from_hidden_, from_entering_, from_below_, zeros_;  // terms of the pre-activations
  Tensor below_, kept_context_;                                           // after dropout
  Tensor from_context_, from_state_;
};

}  // namespace
