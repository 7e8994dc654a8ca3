// Attention of one query for each row of the batch, forward and backward.
#pragma once

#include "arithmetic.h"

#include <limits>

namespace {

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

}  // namespace
