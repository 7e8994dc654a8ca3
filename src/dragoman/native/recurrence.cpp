// A recurrent loop over a whole sequence, with or without attention in it, and its hand-written backward pass.
//
// Rows of a batch are independent, time comes first in every tensor: (time, batch, size). What needs no loop (products with
// the inputs of all positions, gradients of weights) is done in few large products.
//
// order 0: no attention. order 1: attend with the state before, then step (Bahdanau et al. 2015); the context enters beside
// the input. order 2: step, attend with the new state, feed f = tanh(combine [c; h]) into the next step (Luong et al. 2015).
#include "cells.h"
#include "loss.h"
#include "reading.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace {

struct Layer {
  Tensor into, into_bias, recurrent, recurrent_bias;
};

// All that stays the same over the steps of one loop.
struct Loop {
  bool lstm, reverse, low;
  int64_t order;
  double scale;
  std::vector<Layer> layers;
  Tensor alive, keep;  // (time, batch); (layer - 1, time, batch, hidden), what dropout left
  Tensor keys, values, real, query, energy, combine;

  int64_t from(int64_t t) const { return reverse ? t + 1 : t; }
  int64_t to(int64_t t) const { return reverse ? t : t + 1; }
  int64_t at(int64_t step, int64_t steps) const { return reverse ? steps - 1 - step : step; }

  // A matrix as the products of single steps take it.
  Tensor small(const Tensor& matrix) const { return low ? matrix.to(at::kBFloat16) : matrix; }
  Tensor times(const Tensor& x, const Tensor& matrix) const { return product(x, matrix, low); }

  // Of the states (layer, time + 1, batch, hidden): those before and after each step, as rows.
  Tensor before(const Tensor& states, int64_t l) const { return span(states, l, reverse ? 1 : 0); }
  Tensor after(const Tensor& states, int64_t l) const { return span(states, l, reverse ? 0 : 1); }

  // What enters a layer but the first: the states below, less what dropout took.
  Tensor under(const Tensor& states, int64_t l) const {
    const Tensor below = after(states, l - 1);
    return keep.defined() ? below * keep[l - 1].view(below.sizes()) : below;
  }

 private:
  Tensor span(const Tensor& states, int64_t l, int64_t start) const {
    return states[l].narrow(0, start, states.size(1) - 1).view({-1, states.size(3)});
  }
};

Tensor or_none(const Maybe& tensor) { return tensor.has_value() ? *tensor : Tensor(); }

// Sums over rows.
template <typename R>
Tensor column_sums(const Tensor& rows) {
  const int64_t n = rows.size(0), size = rows.size(1);
  const Tensor sums = at::zeros({size}, rows.options());
  R* s = write<R>(sums);
  const R* x = read<R>(rows);
  for (int64_t row = 0; row < n; ++row) {
#pragma omp simd
    for (int64_t j = 0; j < size; ++j) s[j] += x[row * size + j];
  }
  return sums;
}

// sum += alive * m, row by row.
template <typename R>
void add_alive(const Tensor& sum, const R* m, const R* alive) {
  R* s = write<R>(sum);
  const int64_t size = sum.size(1);
  over_rows(sum.size(0), size, [=](int64_t b) {
    const R on = alive ? alive[b] : R(1);
#pragma omp simd
    for (int64_t j = 0; j < size; ++j) s[b * size + j] += on * m[b * size + j];
  });
}

template <typename R>
Many forward_of(const Loop& loop, const Tensor& x, const Tensor& first, const Tensor& fed) {
  const int64_t T = x.size(0), B = x.size(1), I = x.size(2), L = loop.layers.size();
  const int64_t G = loop.layers[0].recurrent.size(0), H = loop.layers[0].recurrent.size(1);
  const Sizes n{B, H};
  const auto options = x.options();
  Tensor states = at::empty({L, T + 1, B, H}, options), kept = at::empty({L, T, B, 4 * H}, options);
  Tensor cells = loop.lstm ? at::empty({L, T + 1, B, H}, options) : Tensor();
  const int64_t start = loop.reverse ? T : 0, end = loop.reverse ? 0 : T;
  states.select(1, start).copy_(first[0]);
  if (loop.lstm) cells.select(1, start).copy_(first[1]);
  std::vector<Product> recurrent(L), lower(L);
  std::vector<Many> of_layer(L);
  for (int64_t l = 0; l < L; ++l) {
    recurrent[l] = Product(loop.small(loop.layers[l].recurrent).t());
    if (l && loop.order) lower[l] = Product(loop.small(loop.layers[l].into).t());
    of_layer[l] = states[l].unbind(0);
  }
  const Tensor hidden_gates = at::empty({B, G}, options), nothing = at::zeros({B, G}, options);
  const Tensor matrix = loop.layers[0].into.narrow(1, 0, I);
  Tensor entering = loop.times(x.view({T * B, I}), matrix.t());

  const auto step = [&](int64_t l, int64_t t, const R* whole, const R* more) {
    const R* alive = loop.alive.defined() ? read<R>(loop.alive) + t * B : nullptr;
    const Entering<R> in{whole, more ? more : read<R>(nothing), read<R>(loop.layers[l].into_bias)};
    const int64_t size = B * H, before = (l * (T + 1) + loop.from(t)) * size, after = (l * (T + 1) + loop.to(t)) * size;
    recurrent[l](hidden_gates, of_layer[l][loop.from(t)]);
    const R *rec = read<R>(hidden_gates), *bias = read<R>(loop.layers[l].recurrent_bias);
    R *k = write<R>(kept) + (l * T + t) * 4 * size, *h = write<R>(states), *c = write<R>(cells);
    if (loop.lstm) {
      lstm_forward<R>(n, in, rec, bias, h + before, c + before, alive, h + after, c + after, k);
    } else {
      gru_forward<R>(n, in, rec, bias, h + before, alive, h + after, k);
    }
  };

  Tensor weights, contexts, queries, feds;
  if (!loop.order) {
    for (int64_t l = 0; l < L; ++l) {
      if (l) entering = loop.times(loop.under(states, l), loop.layers[l].into.t());
      for (int64_t s = 0; s < T; ++s) step(l, loop.at(s, T), read<R>(entering) + loop.at(s, T) * B * G, nullptr);
    }
  } else {
    const int64_t S = loop.keys.size(1), E = loop.values.size(2);
    const Reading reading{B, S, loop.keys.size(2), E, loop.scale};
    weights = at::empty({T, B, S}, options), contexts = at::empty({T, B, E}, options);
    const Tensor extra = at::empty({B, G}, options), above = at::empty({B, G}, options);
    const Tensor dropped = loop.keep.defined() ? at::empty({B, H}, options) : Tensor();
    Product query, into(loop.small(loop.layers[0].into.narrow(1, I, loop.layers[0].into.size(1) - I)).t());
    if (loop.query.defined()) {
      queries = at::empty({T, B, reading.width}, options);
      query = Product(loop.small(loop.query).t());
    }
    Product from_context, from_state;
    Tensor by_context, by_state;
    if (loop.order == 2) {
      const int64_t F = loop.combine.size(0);
      feds = at::empty({T + 1, B, F}, options);
      feds[0].copy_(fed);
      from_context = Product(loop.small(loop.combine.narrow(1, 0, E)).t());
      from_state = Product(loop.small(loop.combine.narrow(1, E, H)).t());
      by_context = at::empty({B, F}, options), by_state = at::empty({B, F}, options);
    }
    const auto read_source = [&](int64_t t, const Tensor& state) {
      const Tensor asked = queries.defined() ? queries[t] : state;
      if (queries.defined()) query(asked, state);
      attend<R>(reading, read<R>(asked), read<R>(loop.keys), read<R>(loop.values), loop.real.const_data_ptr<bool>(),
                read<R>(loop.energy), write<R>(weights) + t * B * S, write<R>(contexts) + t * B * E);
    };
    for (int64_t t = 0; t < T; ++t) {
      if (loop.order == 1) read_source(t, of_layer[L - 1][t]);
      into(extra, loop.order == 1 ? contexts[t] : feds[t]);
      step(0, t, read<R>(entering) + t * B * G, read<R>(extra));
      for (int64_t l = 1; l < L; ++l) {
        Tensor under = of_layer[l - 1][t + 1];
        if (dropped.defined()) {
          const R *u = read<R>(under), *k = read<R>(loop.keep) + ((l - 1) * T + t) * B * H;
          R* d = write<R>(dropped);
          for (int64_t i = 0; i < B * H; ++i) d[i] = u[i] * k[i];
          under = dropped;
        }
        lower[l](above, under);
        step(l, t, read<R>(above), nullptr);
      }
      if (loop.order == 2) {
        const Tensor state = of_layer[L - 1][t + 1];
        read_source(t, state);
        from_context(by_context, contexts[t]);
        from_state(by_state, state);
        const R *c = read<R>(by_context), *h = read<R>(by_state);
        R* f = write<R>(feds[t + 1]);
#pragma omp simd
        for (int64_t i = 0; i < by_context.numel(); ++i) f[i] = tanh_of(c[i] + h[i]);
      }
    }
  }
  Tensor outputs = loop.after(states, L - 1).view({T, B, H});
  if (loop.alive.defined()) outputs = outputs * loop.alive.unsqueeze(-1);
  const Tensor last = loop.lstm ? at::stack({states.select(1, end), cells.select(1, end)}) : states.select(1, end).unsqueeze(0);
  Many results{outputs, last, states, kept};
  for (const Tensor& one : {cells, weights, contexts, queries, feds})
    results.push_back(one.defined() ? one : at::empty({0}, options));
  return results;
}

struct Given {
  Tensor outputs, last, contexts, feds;  // gradients; those that are not defined are zero
};

template <typename R>
Many backward_of(const Loop& loop, const Tensor& x, const Many& saved, const Given& by) {
  const Tensor &states = saved[0], &kept = saved[1], &cells = saved[2], &weights = saved[3], &contexts = saved[4],
               &queries = saved[5], &feds = saved[6];
  const int64_t L = states.size(0), T = kept.size(1), B = kept.size(2), H = states.size(3), G = (loop.lstm ? 4 : 3) * H;
  const int64_t I = x.size(2);
  const Sizes n{B, H};
  const auto options = states.options();
  const Tensor by_in = at::empty({L, T, B, G}, options), by_rec = loop.lstm ? by_in : at::empty({L, T, B, G}, options);
  const Tensor running = at::zeros({loop.lstm ? 2 : 1, L, B, H}, options);
  if (by.last.defined()) running.copy_(by.last);
  const Tensor more = at::empty({B, H}, options);
  std::vector<Product> recurrent(L), lower(L);
  std::vector<Many> ins(L), recs(L);
  for (int64_t l = 0; l < L; ++l) {
    recurrent[l] = Product(loop.small(loop.layers[l].recurrent));
    if (l && loop.order) lower[l] = Product(loop.small(loop.layers[l].into));
    ins[l] = by_in[l].unbind(0), recs[l] = by_rec[l].unbind(0);
  }
  const Many by_state = running[0].unbind(0);
  const Tensor top = by_state[L - 1];

  const auto step = [&](int64_t l, int64_t t) {
    const R* alive = loop.alive.defined() ? read<R>(loop.alive) + t * B : nullptr;
    const int64_t size = B * H, before = (l * (T + 1) + loop.from(t)) * size, after = (l * (T + 1) + loop.to(t)) * size;
    const R* k = read<R>(kept) + (l * T + t) * 4 * size;
    R *own = write<R>(by_state[l]), *in = write<R>(ins[l][t]);
    if (loop.lstm) {
      const R* c = read<R>(cells);
      lstm_backward<R>(n, k, c + before, c + after, alive, own, write<R>(running) + (L + l) * size, in);
    } else {
      gru_backward<R>(n, k, read<R>(states) + before, alive, own, in, write<R>(recs[l][t]));
    }
    recurrent[l](more, recs[l][t]);
    add_to<R>(by_state[l], read<R>(more));
  };

  const auto rows = [](const Tensor& t) { return t.reshape({-1, t.size(-1)}); };
  Many by_source;
  Tensor entered;  // (rows, size): what entered the first layer beside x
  Tensor by_fed, by_read, by_queries, by_scores, by_keys, by_energy, by_squashed;
  if (!loop.order) {
    Tensor outer = by.outputs;
    for (int64_t l = L - 1; l >= 0; --l) {
      for (int64_t s = T - 1; s >= 0; --s) {
        const int64_t t = loop.at(s, T);
        const R* alive = l == L - 1 && loop.alive.defined() ? read<R>(loop.alive) + t * B : nullptr;
        if (outer.defined()) add_alive<R>(by_state[l], read<R>(outer) + t * B * H, alive);
        step(l, t);
      }
      if (l) {
        outer = loop.times(rows(by_in[l]), loop.layers[l].into);
        if (loop.keep.defined()) outer.mul_(loop.keep[l - 1].view(outer.sizes()));
      }
    }
  } else {
    const int64_t S = loop.keys.size(1), E = loop.values.size(2);
    const Reading reading{B, S, loop.keys.size(2), E, loop.scale};
    const bool projected = loop.query.defined();
    by_read = by.contexts.defined() ? by.contexts.clone() : at::zeros({T, B, E}, options);
    by_queries = at::empty({T, B, reading.width}, options);
    by_scores = at::empty({T, B, S}, options);
    if (loop.energy.defined()) {
      by_keys = at::zeros(loop.keys.sizes(), options);
      by_energy = at::zeros({B, reading.width}, options);
    }
    const Tensor to_context = at::empty({B, E}, options);
    const Product into_read(loop.small(loop.layers[0].into.narrow(1, I, loop.layers[0].into.size(1) - I)));
    Product into = into_read, query, combine_context, combine_state;
    if (projected) query = Product(loop.small(loop.query));
    if (loop.order == 2) {
      by_fed = at::zeros({B, loop.combine.size(0)}, options);
      by_squashed = at::empty({T, B, loop.combine.size(0)}, options);
      combine_context = Product(loop.small(loop.combine.narrow(1, 0, E)));
      combine_state = Product(loop.small(loop.combine.narrow(1, E, H)));
    }
    const auto read_source = [&](int64_t t, int64_t state) {
      const R* asked = projected ? read<R>(queries) + t * B * reading.width
                                 : read<R>(states) + ((L - 1) * (T + 1) + state) * B * H;
      R* by_asked = write<R>(by_queries) + t * B * reading.width;
      attend_backward<R>(reading, read<R>(by_read) + t * B * E, asked, read<R>(loop.keys), read<R>(loop.values),
                         loop.real.const_data_ptr<bool>(), read<R>(loop.energy), read<R>(weights) + t * B * S,
                         write<R>(by_scores) + t * B * S, by_asked, write<R>(by_keys), write<R>(by_energy));
      if (projected) query(more, by_queries[t]);
      add_to<R>(top, projected ? read<R>(more) : by_asked);
    };
    for (int64_t t = T - 1; t >= 0; --t) {
      if (by.outputs.defined()) add_to<R>(top, read<R>(by.outputs) + t * B * H);
      if (loop.order == 2) {
        const Tensor squashed = by_squashed[t];
        const R *f = read<R>(feds[t + 1]), *later = read<R>(by_fed);
        const R* g = by.feds.defined() ? read<R>(by.feds) + t * squashed.numel() : nullptr;
        R* d = write<R>(squashed);
        for (int64_t i = 0; i < squashed.numel(); ++i) d[i] = ((g ? g[i] : R(0)) + later[i]) * (R(1) - f[i] * f[i]);
        combine_context(to_context, squashed);
        add_to<R>(by_read[t], read<R>(to_context));
        combine_state(more, squashed);
        add_to<R>(top, read<R>(more));
        read_source(t, t + 1);
      }
      for (int64_t l = L - 1; l >= 0; --l) {
        step(l, t);
        if (!l) continue;
        lower[l](more, ins[l][t]);
        const R *m = read<R>(more), *left = loop.keep.defined() ? read<R>(loop.keep) + ((l - 1) * T + t) * B * H : nullptr;
        R* under = write<R>(by_state[l - 1]);
        for (int64_t i = 0; i < B * H; ++i) under[i] += left ? m[i] * left[i] : m[i];
      }
      if (loop.order == 1) {
        into(to_context, ins[0][t]);
        add_to<R>(by_read[t], read<R>(to_context));
        read_source(t, t);
      } else {
        into(by_fed, ins[0][t]);
      }
    }
    const Tensor asking = loop.order == 1 ? loop.before(states, L - 1) : loop.after(states, L - 1);
    entered = rows(loop.order == 1 ? contexts : feds.narrow(0, 0, T));
    if (!loop.energy.defined())
      by_keys = at::bmm(by_scores.permute({1, 2, 0}), (projected ? queries : asking.view({T, B, H})).transpose(0, 1));
    by_source = {by_keys, at::bmm(weights.permute({1, 2, 0}), by_read.transpose(0, 1))};
    if (projected) by_source.push_back(loop.times(rows(by_queries).t(), asking));
    if (loop.energy.defined()) by_source.push_back(column_sums<R>(by_energy));
    if (loop.order == 2) {
      by_source.push_back(loop.times(rows(by_squashed).t(), at::cat({rows(contexts), asking}, 1)));
      by_source.push_back(by_fed);
    }
  }
  const Tensor inputs = rows(x), into = loop.layers[0].into;
  Many results{loop.times(rows(by_in[0]), into.narrow(1, 0, I)).view({T, B, I}), running};
  for (int64_t l = 0; l < L; ++l) {
    const Tensor in = rows(by_in[l]), rec = rows(by_rec[l]);
    const Tensor gates = in.t(), entering = l ? loop.under(states, l) : inputs;
    const Tensor by_into = loop.times(gates, entering), by_bias = column_sums<R>(in);
    results.push_back(l == 0 && entered.defined() ? at::cat({by_into, loop.times(gates, entered)}, 1) : by_into);
    results.push_back(by_bias);
    results.push_back(loop.times(rec.t(), loop.before(states, l)));
    results.push_back(loop.lstm ? by_bias.clone() : column_sums<R>(rec));
  }
  results.insert(results.end(), by_source.begin(), by_source.end());
  return results;
}

Loop loop_of(bool lstm, bool reverse, bool low, int64_t order, double scale, const Many& layers, const Maybe& alive,
             const Maybe& keep, const Many& reading, const Maybe& query, const Maybe& energy, const Maybe& combine) {
  Loop loop{lstm, reverse, low, order, scale};
  for (size_t l = 0; l < layers.size(); l += 4) loop.layers.push_back({layers[l], layers[l + 1], layers[l + 2], layers[l + 3]});
  loop.alive = or_none(alive), loop.keep = or_none(keep);
  loop.query = or_none(query), loop.energy = or_none(energy), loop.combine = or_none(combine);
  if (order) loop.keys = reading[0], loop.values = reading[1], loop.real = reading[2];
  return loop;
}

// layers: weight_ih, bias_ih, weight_hh and bias_hh of each; the first weight_ih takes x and, beside it, the context or what
// is fed. reading: keys, values, and which are real.
// Returns outputs, the last state, and seven tensors for `backward`. Outputs share memory with these.
Many forward(const Tensor& x, const Tensor& first, const Maybe& fed, bool lstm, bool reverse, bool low, int64_t order,
             double scale, const Many& layers, const Maybe& alive, const Maybe& keep, const Many& reading, const Maybe& query,
             const Maybe& energy, const Maybe& combine) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Loop loop = loop_of(lstm, reverse, low, order, scale, layers, alive, keep, reading, query, energy, combine);
  if (x.scalar_type() == at::kDouble) return forward_of<double>(loop, x, first, or_none(fed));
  return forward_of<float>(loop, x, first, or_none(fed));
}

// Returns the gradients of x, first and the layers and, with attention, of keys and values and of those that there are of
// query, energy, combine and fed.
Many backward(const Tensor& x, const Many& saved, const Maybe& by_outputs, const Maybe& by_last, const Maybe& by_contexts,
              const Maybe& by_feds, bool lstm, bool reverse, bool low, int64_t order, double scale, const Many& layers,
              const Maybe& alive, const Maybe& keep, const Many& reading, const Maybe& query, const Maybe& energy,
              const Maybe& combine) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Loop loop = loop_of(lstm, reverse, low, order, scale, layers, alive, keep, reading, query, energy, combine);
  const auto ready = [](const Maybe& given) { return given.has_value() ? given->contiguous() : Tensor(); };
  const Given by{ready(by_outputs), or_none(by_last), ready(by_contexts), ready(by_feds)};
  if (x.scalar_type() == at::kDouble) return backward_of<double>(loop, x, saved, by);
  return backward_of<float>(loop, x, saved, by);
}

}  // namespace

TORCH_LIBRARY(dragoman_native, library) {
  library.def("forward", torch::dispatch(c10::DispatchKey::CPU, &forward));
  library.def("backward", torch::dispatch(c10::DispatchKey::CPU, &backward));
  library.def("cross_entropy", torch::dispatch(c10::DispatchKey::CPU, &cross_entropy));
}
