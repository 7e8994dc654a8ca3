// A recurrent loop over a whole sequence, with or without attention in it, and its hand-written backward pass.
//
// Rows of a batch are independent, time comes first in every tensor: (time, batch, size). What needs no loop (products with
// the inputs of all positions, gradients of weights) is done by the caller, in few large products.
//
// order 0: no attention. order 1: attend with the state before, then step (Bahdanau et al. 2015); the context enters through
// `into`. order 2: step, attend with the new state, feed f = tanh(combine [c; h]) into the next step (Luong et al. 2015).
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace {

using at::Tensor;
using Maybe = std::optional<Tensor>;
using Many = std::vector<Tensor>;

inline double tanh_of(double x) { return std::tanh(x); }

// A quotient of polynomials, within 4e-7 of tanh, of plain arithmetic alone so that compilers vectorise it (as in Eigen).
inline float tanh_of(float x) {
  x = x > 7.90531110763549805f ? 7.90531110763549805f : (x < -7.90531110763549805f ? -7.90531110763549805f : x);
  const float s = x * x;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s + -8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return x * p / q;
}

template <typename R>
inline R sigmoid_of(R x) { return R(0.5) + R(0.5) * tanh_of(R(0.5) * x); }

template <typename R>
const R* read(const Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr<R>() : nullptr; }

template <typename R>
R* write(const Tensor& tensor) { return tensor.defined() ? tensor.mutable_data_ptr<R>() : nullptr; }

template <typename F>
void over_rows(int64_t rows, int64_t work, const F& body) {
  at::parallel_for(0, rows, std::max<int64_t>(1, 32768 / std::max<int64_t>(work, 1)), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) body(row);
  });
}

// x times a fixed matrix; where the matrix is bfloat16, so is the product, and what comes out is rounded up again.
class Product {
 public:
  Product() = default;
  explicit Product(const Tensor& matrix) : matrix_(matrix) {}
  void operator()(const Tensor& out, const Tensor& x) {
    Tensor target = out;
    if (matrix_.scalar_type() == x.scalar_type()) {
      at::mm_out(target, x, matrix_);
      return;
    }
    if (!narrow_.defined()) {
      narrow_ = at::empty(x.sizes(), x.options().dtype(matrix_.scalar_type()));
      result_ = at::empty(out.sizes(), narrow_.options());
    }
    narrow_.copy_(x);
    at::mm_out(result_, narrow_, matrix_);
    target.copy_(result_);
  }

 private:
  Tensor matrix_, narrow_, result_;
};

struct Sizes {
  int64_t batch, hidden;
};

// What one step adds up before its gates, besides what comes from the state: two products and a bias, some of them zeros.
template <typename R>
struct Entering {
  const R* whole;    // (batch, gates)
  const R* context;  // (batch, gates)
  const R* bias;     // (gates)
};

// Where a row is alive is a number here: with truth values compilers do not vectorise.
//
// GRU: r, z = sigmoid; n = tanh(x + r h); h' = n + z (h - n). Kept: r, z, n and W h + b of the candidate.
template <typename R>
void gru_forward(Sizes n, Entering<R> in, const R* rec, const R* bias, const R* before, const R* alive, R* after, R* kept) {
  over_rows(n.batch, 40 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *h = rec + b * 3 * H, *x = in.whole + b * 3 * H, *y = in.context + b * 3 * H, *w = in.bias;
    const R *v = bias, *o = before + b * H;
    R *k = kept + b * 4 * H, *a = after + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R r = sigmoid_of(x[j] + y[j] + w[j] + h[j] + v[j]);
      const R z = sigmoid_of(x[H + j] + y[H + j] + w[H + j] + h[H + j] + v[H + j]);
      const R own = h[2 * H + j] + v[2 * H + j];
      const R c = tanh_of(x[2 * H + j] + y[2 * H + j] + w[2 * H + j] + r * own);
      const R old = o[j];
      k[j] = r, k[H + j] = z, k[2 * H + j] = c, k[3 * H + j] = own;
      a[j] = on * (c + z * (old - c)) + off * old;
    }
  });
}

template <typename R>
void gru_backward(Sizes n, const R* kept, const R* before, const R* alive, R* by_state, R* by_in, R* by_rec) {
  over_rows(n.batch, 20 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *k = kept + b * 4 * H, *o = before + b * H;
    R *di = by_in + b * 3 * H, *dr = by_rec + b * 3 * H, *dh = by_state + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R r = k[j], z = k[H + j], c = k[2 * H + j], own = k[3 * H + j];
      const R g = on * dh[j];
      const R dc = g * (R(1) - z) * (R(1) - c * c);
      const R dz = g * (o[j] - c) * z * (R(1) - z);
      const R dreset = dc * own * r * (R(1) - r);
      di[j] = dreset, di[H + j] = dz, di[2 * H + j] = dc;
      dr[j] = dreset, dr[H + j] = dz, dr[2 * H + j] = dc * r;
      dh[j] = g * z + off * dh[j];
    }
  });
}

// LSTM: i, f, o = sigmoid, g = tanh; c' = f c + i g; h' = o tanh(c'). Kept: i, f, g, o.
template <typename R>
void lstm_forward(Sizes n, Entering<R> in, const R* rec, const R* bias, const R* before, const R* cells, const R* alive,
                  R* after, R* cells_after, R* kept) {
  over_rows(n.batch, 50 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *h = rec + b * 4 * H, *x = in.whole + b * 4 * H, *y = in.context + b * 4 * H, *w = in.bias;
    const R *v = bias, *s = before + b * H, *m = cells + b * H;
    R *k = kept + b * 4 * H, *a = after + b * H, *p = cells_after + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R i = sigmoid_of(x[j] + y[j] + w[j] + h[j] + v[j]);
      const R f = sigmoid_of(x[H + j] + y[H + j] + w[H + j] + h[H + j] + v[H + j]);
      const R g = tanh_of(x[2 * H + j] + y[2 * H + j] + w[2 * H + j] + h[2 * H + j] + v[2 * H + j]);
      const R o = sigmoid_of(x[3 * H + j] + y[3 * H + j] + w[3 * H + j] + h[3 * H + j] + v[3 * H + j]);
      const R old = m[j], c = f * old + i * g;
      k[j] = i, k[H + j] = f, k[2 * H + j] = g, k[3 * H + j] = o;
      p[j] = on * c + off * old;
      a[j] = on * o * tanh_of(c) + off * s[j];
    }
  });
}

template <typename R>
void lstm_backward(Sizes n, const R* kept, const R* cells, const R* cells_after, const R* alive, R* by_state, R* by_cell,
                   R* by_in) {
  over_rows(n.batch, 30 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *k = kept + b * 4 * H, *m = cells + b * H, *p = cells_after + b * H;
    R *d = by_in + b * 4 * H, *dh = by_state + b * H, *dc = by_cell + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R i = k[j], f = k[H + j], g = k[2 * H + j], o = k[3 * H + j];
      const R t = tanh_of(p[j]);
      const R gh = on * dh[j];
      const R gc = on * dc[j] + gh * o * (R(1) - t * t);
      d[j] = gc * g * i * (R(1) - i);
      d[H + j] = gc * m[j] * f * (R(1) - f);
      d[2 * H + j] = gc * i * (R(1) - g * g);
      d[3 * H + j] = gh * t * o * (R(1) - o);
      dc[j] = gc * f + off * dc[j];
      dh[j] = off * dh[j];
    }
  });
}

struct Reading {
  int64_t batch, source, width, values;
  double scale;
};

// Scores, softmax over the real keys, average, one row of the batch after the other; a row without keys reads zeros.
template <typename R>
void attend(Reading n, const R* queries, const R* keys, const R* values, const bool* real, const R* energy, R* weights,
            R* contexts) {
  over_rows(n.batch, n.source * (8 * n.width + n.values), [=](int64_t b) {
    const R* strength = energy;
    const int64_t width = n.width, size = n.values;
    const R* q = queries + b * n.width;
    R *w = weights + b * n.source, *c = contexts + b * n.values;
    R most = -std::numeric_limits<R>::infinity(), total = 0;
    for (int64_t s = 0; s < n.source; ++s) {
      if (!real[b * n.source + s]) continue;
      const R* k = keys + (b * n.source + s) * n.width;
      R sum = 0;
      if (strength) {
#pragma omp simd reduction(+ : sum)
        for (int64_t a = 0; a < width; ++a) sum += strength[a] * tanh_of(q[a] + k[a]);
      } else {
#pragma omp simd reduction(+ : sum)
        for (int64_t a = 0; a < width; ++a) sum += q[a] * k[a];
      }
      w[s] = sum * R(n.scale);
      most = std::max(most, w[s]);
    }
    for (int64_t s = 0; s < n.source; ++s) {
      w[s] = real[b * n.source + s] ? std::exp(w[s] - most) : R(0);
      total += w[s];
    }
    std::fill(c, c + n.values, R(0));
    for (int64_t s = 0; s < n.source; ++s) {
      if (!real[b * n.source + s]) continue;
      w[s] /= total;
      const R* v = values + (b * n.source + s) * n.values;
      const R share = w[s];
#pragma omp simd
      for (int64_t e = 0; e < size; ++e) c[e] += share * v[e];
    }
  });
}

// Gradients of scores and queries, and of additive keys and energies (added up), whose tanh is computed again.
template <typename R>
void attend_backward(Reading n, const R* by_context, const R* queries, const R* keys, const R* values, const bool* real,
                     const R* energy, const R* weights, R* by_scores, R* by_queries, R* by_keys, R* by_energy) {
  over_rows(n.batch, n.source * (16 * n.width + n.values), [=](int64_t b) {
    const R* strength = energy;
    const int64_t width = n.width, size = n.values;
    const R *q = queries + b * n.width, *w = weights + b * n.source, *g = by_context + b * n.values;
    R *ds = by_scores + b * n.source, *dq = by_queries + b * n.width;
    R mean = 0;
    for (int64_t s = 0; s < n.source; ++s) {
      const R* v = values + (b * n.source + s) * n.values;
      R sum = 0;
      if (real[b * n.source + s]) {
#pragma omp simd reduction(+ : sum)
        for (int64_t e = 0; e < size; ++e) sum += g[e] * v[e];
      }
      ds[s] = sum;
      mean += w[s] * sum;
    }
    std::fill(dq, dq + n.width, R(0));
    for (int64_t s = 0; s < n.source; ++s) {
      const R d = ds[s] = w[s] * (ds[s] - mean) * R(n.scale);
      if (!real[b * n.source + s]) continue;
      const R* k = keys + (b * n.source + s) * n.width;
      if (strength) {
        R *dk = by_keys + (b * n.source + s) * n.width, *de = by_energy + b * n.width;
#pragma omp simd
        for (int64_t a = 0; a < width; ++a) {
          const R t = tanh_of(q[a] + k[a]);
          const R slope = d * strength[a] * (R(1) - t * t);
          de[a] += d * t;
          dk[a] += slope;
          dq[a] += slope;
        }
      } else {
#pragma omp simd
        for (int64_t a = 0; a < width; ++a) dq[a] += d * k[a];
      }
    }
  });
}

template <typename R>
void add_to(const Tensor& sum, const R* m) {
  R* s = write<R>(sum);
  at::parallel_for(0, sum.numel(), 32768, [=](int64_t first, int64_t last) {
#pragma omp simd
    for (int64_t i = first; i < last; ++i) s[i] += m[i];
  });
}

// All that stays the same over the steps of one loop.
struct Loop {
  bool lstm, reverse;
  int64_t order;
  double scale;
  Many recurrent, recurrent_bias, lower, lower_bias;  // of each layer; of each layer but the first
  Tensor alive, keep;                                 // (time, batch); (layer - 1, time, batch, hidden), what dropout left
  Tensor keys, values, real, query, energy, into, combine;

  int64_t from(int64_t t) const { return reverse ? t + 1 : t; }
  int64_t to(int64_t t) const { return reverse ? t : t + 1; }
};

Tensor or_none(const Maybe& tensor) { return tensor.has_value() ? *tensor : Tensor(); }

template <typename R>
Many forward_of(const Loop& loop, const Tensor& x, const Tensor& first, const Tensor& fed) {
  const int64_t T = x.size(0), B = x.size(1), G = x.size(2), L = loop.recurrent.size(), H = loop.recurrent[0].size(1);
  const Sizes n{B, H};
  const auto options = x.options();
  Tensor states = at::empty({L, T + 1, B, H}, options), kept = at::empty({L, T, B, 4 * H}, options);
  Tensor cells = loop.lstm ? at::empty({L, T + 1, B, H}, options) : Tensor();
  const Many of_layer = states.unbind(0);
  const int64_t start = loop.reverse ? T : 0;
  for (int64_t l = 0; l < L; ++l) {
    states[l][start].copy_(first[0][l]);
    if (loop.lstm) cells[l][start].copy_(first[1][l]);
  }
  Tensor weights, contexts, queries, feds;
  Reading reading{};
  std::vector<Product> recurrent(L), lower(L);
  Product query, into, from_context, from_state;
  for (int64_t l = 0; l < L; ++l) recurrent[l] = Product(loop.recurrent[l].t());
  for (int64_t l = 1; l < L; ++l) lower[l] = Product(loop.lower[l - 1].t());
  const Tensor hidden_gates = at::empty({B, G}, options), entering = at::empty({B, G}, options);
  const Tensor nothing = at::zeros({B, G}, options), extra = at::empty({B, G}, options), dropped = loop.keep.defined() ? at::empty({B, H}, options) : Tensor();
  Tensor by_context, by_state;
  if (loop.order) {
    reading = {B, loop.keys.size(1), loop.keys.size(2), loop.values.size(2), loop.scale};
    weights = at::empty({T, B, reading.source}, options);
    contexts = at::empty({T, B, reading.values}, options);
    if (loop.query.defined()) {
      queries = at::empty({T, B, reading.width}, options);
      query = Product(loop.query.t());
    }
    into = Product(loop.into.t());
  }
  if (loop.order == 2) {
    const int64_t F = loop.combine.size(0), E = reading.values;
    feds = at::empty({T + 1, B, F}, options);
    feds[0].copy_(fed);
    from_context = Product(loop.combine.narrow(1, 0, E).t());
    from_state = Product(loop.combine.narrow(1, E, H).t());
    by_context = at::empty({B, F}, options), by_state = at::empty({B, F}, options);
  }
  const auto read_source = [&](int64_t t, const Tensor& state) {
    const Tensor asked = queries.defined() ? queries[t] : state;
    if (queries.defined()) query(asked, state);
    attend<R>(reading, read<R>(asked), read<R>(loop.keys), read<R>(loop.values), loop.real.const_data_ptr<bool>(),
              read<R>(loop.energy), write<R>(weights) + t * B * reading.source, write<R>(contexts) + t * B * reading.values);
  };
  for (int64_t step = 0; step < T; ++step) {
    const int64_t t = loop.reverse ? T - 1 - step : step;
    const R* alive = loop.alive.defined() ? read<R>(loop.alive) + t * B : nullptr;
    if (loop.order == 1) {
      read_source(t, of_layer[L - 1][t]);
      into(extra, contexts[t]);
    } else if (loop.order == 2) {
      into(extra, feds[t]);
    }
    for (int64_t l = 0; l < L; ++l) {
      Entering<R> in{read<R>(x) + t * B * G, read<R>(loop.order ? extra : nothing), read<R>(nothing)};
      if (l) {
        Tensor under = of_layer[l - 1][loop.to(t)];
        if (dropped.defined()) {
          const R *u = read<R>(under), *k = read<R>(loop.keep) + ((l - 1) * T + t) * B * H;
          R* d = write<R>(dropped);
          for (int64_t i = 0; i < B * H; ++i) d[i] = u[i] * k[i];
          under = dropped;
        }
        lower[l](entering, under);
        in = {read<R>(entering), read<R>(nothing), read<R>(loop.lower_bias[l - 1])};
      }
      const int64_t size = B * H, before = (l * (T + 1) + loop.from(t)) * size, after = (l * (T + 1) + loop.to(t)) * size;
      recurrent[l](hidden_gates, of_layer[l][loop.from(t)]);
      const R *rec = read<R>(hidden_gates), *bias = read<R>(loop.recurrent_bias[l]);
      R *k = write<R>(kept) + (l * T + t) * 4 * size, *h = write<R>(states), *c = write<R>(cells);
      if (loop.lstm) {
        lstm_forward<R>(n, in, rec, bias, h + before, c + before, alive, h + after, c + after, k);
      } else {
        gru_forward<R>(n, in, rec, bias, h + before, alive, h + after, k);
      }
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
  Many results{states, kept};
  for (const Tensor& one : {cells, weights, contexts, queries, feds})
    results.push_back(one.defined() ? one : at::empty({0}, options));
  return results;
}

template <typename R>
Many backward_of(const Loop& loop, const Many& saved, const Tensor& by_states, const Tensor& by_last,
                 const Tensor& by_contexts, const Tensor& by_feds) {
  const Tensor &states = saved[0], &kept = saved[1], &cells = saved[2], &weights = saved[3], &queries = saved[5],
               &feds = saved[6];
  const int64_t L = states.size(0), T = kept.size(1), B = kept.size(2), H = states.size(3), G = (loop.lstm ? 4 : 3) * H;
  const Sizes n{B, H};
  const auto options = states.options();
  const Tensor by_in = at::empty({L, T, B, G}, options), by_rec = loop.lstm ? by_in : at::empty({L, T, B, G}, options);
  const Tensor running = by_last.clone();  // (parts, layer, batch, hidden)
  const Tensor more = at::empty({B, H}, options);
  std::vector<Product> recurrent(L), lower(L);
  for (int64_t l = 0; l < L; ++l) recurrent[l] = Product(loop.recurrent[l]);
  for (int64_t l = 1; l < L; ++l) lower[l] = Product(loop.lower[l - 1]);
  Tensor by_read, by_queries, by_scores, by_keys, by_energy, by_fed, by_squashed, to_context;
  Reading reading{};
  Product query, into, combine_context, combine_state;
  const bool projected = loop.query.defined();
  if (loop.order) {
    reading = {B, loop.keys.size(1), loop.keys.size(2), loop.values.size(2), loop.scale};
    by_read = by_contexts.clone();
    by_queries = at::empty({T, B, reading.width}, options);
    by_scores = at::empty({T, B, reading.source}, options);
    if (loop.energy.defined()) {
      by_keys = at::zeros(loop.keys.sizes(), options);
      by_energy = at::zeros({B, reading.width}, options);
    }
    into = Product(loop.into);
    to_context = at::empty({B, reading.values}, options);
    if (projected) query = Product(loop.query);
  }
  if (loop.order == 2) {
    by_fed = at::zeros({B, loop.combine.size(0)}, options);
    by_squashed = at::empty({T, B, loop.combine.size(0)}, options);
    combine_context = Product(loop.combine.narrow(1, 0, reading.values));
    combine_state = Product(loop.combine.narrow(1, reading.values, H));
  }
  const Many by_state = running[0].unbind(0), ins = by_in.unbind(0), recs = by_rec.unbind(0);
  const Tensor top = by_state[L - 1];
  const auto read_source = [&](int64_t t, int64_t state) {
    const int64_t at = t * B * reading.width, scored = t * B * reading.source;
    const R* asked = projected ? read<R>(queries) + at : read<R>(states) + ((L - 1) * (T + 1) + state) * B * H;
    R* by_asked = write<R>(by_queries) + at;
    attend_backward<R>(reading, read<R>(by_read) + t * B * reading.values, asked, read<R>(loop.keys), read<R>(loop.values),
                       loop.real.const_data_ptr<bool>(), read<R>(loop.energy), read<R>(weights) + scored,
                       write<R>(by_scores) + scored, by_asked, write<R>(by_keys), write<R>(by_energy));
    if (projected) query(more, by_queries[t]);
    add_to<R>(top, projected ? read<R>(more) : by_asked);
  };
  for (int64_t step = T - 1; step >= 0; --step) {
    const int64_t t = loop.reverse ? T - 1 - step : step;
    const R* alive = loop.alive.defined() ? read<R>(loop.alive) + t * B : nullptr;
    add_to<R>(top, read<R>(by_states) + t * B * H);
    if (loop.order == 2) {
      const Tensor squashed = by_squashed[t];
      const R *f = read<R>(feds[t + 1]), *g = read<R>(by_feds[t]), *later = read<R>(by_fed);
      R* d = write<R>(squashed);
#pragma omp simd
      for (int64_t i = 0; i < squashed.numel(); ++i) d[i] = (g[i] + later[i]) * (R(1) - f[i] * f[i]);
      combine_context(to_context, squashed);
      add_to<R>(by_read[t], read<R>(to_context));
      combine_state(more, squashed);
      add_to<R>(top, read<R>(more));
      read_source(t, t + 1);
    }
    for (int64_t l = L - 1; l >= 0; --l) {
      const Tensor own = by_state[l], in = ins[l][t], rec = loop.lstm ? in : recs[l][t];
      const int64_t size = B * H, before = (l * (T + 1) + loop.from(t)) * size, after = (l * (T + 1) + loop.to(t)) * size;
      const R* k = read<R>(kept) + (l * T + t) * 4 * size;
      if (loop.lstm) {
        const R* c = read<R>(cells);
        R* by_cell = write<R>(running) + (L + l) * size;
        lstm_backward<R>(n, k, c + before, c + after, alive, write<R>(own), by_cell, write<R>(in));
      } else {
        gru_backward<R>(n, k, read<R>(states) + before, alive, write<R>(own), write<R>(in), write<R>(rec));
      }
      recurrent[l](more, rec);
      add_to<R>(own, read<R>(more));
      if (l) {
        lower[l](more, in);
        const R *m = read<R>(more), *left = loop.keep.defined() ? read<R>(loop.keep) + ((l - 1) * T + t) * B * H : nullptr;
        R* under = write<R>(by_state[l - 1]);
        for (int64_t i = 0; i < B * H; ++i) under[i] += left ? m[i] * left[i] : m[i];
      }
    }
    if (loop.order == 1) {
      into(to_context, ins[0][t]);
      add_to<R>(by_read[t], read<R>(to_context));
      read_source(t, t);
    } else if (loop.order == 2) {
      into(by_fed, ins[0][t]);
    }
  }
  Many results{by_in, by_rec, running};
  for (const Tensor& one : {by_read, by_queries, by_scores, by_keys, by_energy, by_squashed, by_fed})
    results.push_back(one.defined() ? one : at::empty({0}, options));
  return results;
}

Loop loop_of(bool lstm, bool reverse, int64_t order, double scale, const Many& layers, const Maybe& alive, const Maybe& keep,
             const Many& reading, const Maybe& query, const Maybe& energy, const Maybe& combine) {
  const size_t count = (layers.size() + 2) / 4;
  Loop loop{lstm, reverse, order, scale};
  for (size_t l = 0; l < count; ++l) {
    loop.recurrent.push_back(layers[2 * l]);
    loop.recurrent_bias.push_back(layers[2 * l + 1]);
  }
  for (size_t l = count; l < 2 * count - 1; ++l) {
    loop.lower.push_back(layers[2 * l]);
    loop.lower_bias.push_back(layers[2 * l + 1]);
  }
  loop.alive = or_none(alive), loop.keep = or_none(keep);
  loop.query = or_none(query), loop.energy = or_none(energy), loop.combine = or_none(combine);
  if (order) loop.keys = reading[0], loop.values = reading[1], loop.real = reading[2], loop.into = reading[3];
  return loop;
}

// layers: weight_hh and bias_hh of each layer, then weight_ih and bias_ih of each layer but the first.
// reading: keys, values, which are real, and the matrix through which the context (or what is fed) enters the gates.
Many forward(const Tensor& x, const Tensor& first, const Maybe& fed, bool lstm, bool reverse, int64_t order, double scale,
             const Many& layers, const Maybe& alive, const Maybe& keep, const Many& reading, const Maybe& query,
             const Maybe& energy, const Maybe& combine) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Loop loop = loop_of(lstm, reverse, order, scale, layers, alive, keep, reading, query, energy, combine);
  if (x.scalar_type() == at::kDouble) return forward_of<double>(loop, x, first, or_none(fed));
  return forward_of<float>(loop, x, first, or_none(fed));
}

Many backward(const Many& saved, const Tensor& by_states, const Tensor& by_last, const Maybe& by_contexts,
              const Maybe& by_feds, bool lstm, bool reverse, int64_t order, double scale, const Many& layers,
              const Maybe& alive, const Maybe& keep, const Many& reading, const Maybe& query, const Maybe& energy,
              const Maybe& combine) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Loop loop = loop_of(lstm, reverse, order, scale, layers, alive, keep, reading, query, energy, combine);
  if (by_states.scalar_type() == at::kDouble)
    return backward_of<double>(loop, saved, by_states, by_last, or_none(by_contexts), or_none(by_feds));
  return backward_of<float>(loop, saved, by_states, by_last, or_none(by_contexts), or_none(by_feds));
}

}  // namespace

TORCH_LIBRARY(dragoman_recurrence, library) {
  library.def("forward", torch::dispatch(c10::DispatchKey::CPU, &forward));
  library.def("backward", torch::dispatch(c10::DispatchKey::CPU, &backward));
}
