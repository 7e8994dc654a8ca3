// Attention of one query for each row of the batch, forward and backward: the only softmax over keys in C++.
#pragma once

#include "arithmetic.h"

#include <limits>

namespace {

struct AttentionShape {
  int64_t batch, source, width, values;  // width: of queries and prepared keys; values: of values and contexts
  double scale;                          // multiplies every score
};

// The source of attention.
template <typename Real>
struct SourceRows {
  const Real* keys;    // (batch, source, width)
  const Real* values;  // (batch, source, values)
  const bool* real;    // (batch, source)
  const Real* energy;  // (width), the v of an additive score; null if queries and keys are multiplied
};

// v^T tanh(q + k), or q^T k without an energy.
template <typename Real>
inline Real score_of(const Real* query, const Real* key, const Real* energy, int64_t width) {
  Real sum = 0;
  if (energy) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) sum += energy[i] * tanh_of(query[i] + key[i]);
  } else {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) sum += query[i] * key[i];
  }
  return sum;
}

// Turns scores into weights over the real keys in place, except for the division by the sum, which is returned.
template <typename Real>
inline Real masked_exponentials(Real* scores, const bool* real, int64_t source, Real largest) {
  Real total = 0;
  for (int64_t key = 0; key < source; ++key) {
    scores[key] = real[key] ? std::exp(scores[key] - largest) : Real(0);
    total += scores[key];
  }
  return total;
}

// Scores, softmax over the real keys, average; a row without real keys gets zeros.
template <typename Real>
void attend(AttentionShape shape, SourceRows<Real> source, const Real* queries, Real* weights, Real* contexts) {
  over_rows(shape.batch, shape.source * (8 * shape.width + shape.values), [=](int64_t row) {
    const Real *query = queries + row * shape.width, *keys = source.keys + row * shape.source * shape.width;
    const Real *values = source.values + row * shape.source * shape.values, *energy = source.energy;
    const bool* real = source.real + row * shape.source;
    Real *weight = weights + row * shape.source, *context = contexts + row * shape.values;
    const int64_t size = shape.values;
    Real largest = -std::numeric_limits<Real>::infinity();
    for (int64_t key = 0; key < shape.source; ++key) {
      if (!real[key]) continue;
      weight[key] = score_of(query, keys + key * shape.width, energy, shape.width) * Real(shape.scale);
      largest = std::max(largest, weight[key]);
    }
    const Real total = masked_exponentials(weight, real, shape.source, largest);
    std::fill(context, context + size, Real(0));
    for (int64_t key = 0; key < shape.source; ++key) {
      if (!real[key]) continue;
      weight[key] /= total;
      const Real *value = values + key * size, share = weight[key];
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) context[i] += share * value[i];
    }
  });
}

// Gradients that `attend_backward` writes: of scores and queries and, for an additive score, accumulated, of keys and energies.
template <typename Real>
struct AttentionGradients {
  Real* scores;    // (batch, source)
  Real* queries;   // (batch, width)
  Real* keys;      // (batch, source, width), additive scores only
  Real* energies;  // (batch, width), additive scores only
};

// Adds to the gradients of one query, one key and the energy, whose tanh is recomputed.
template <typename Real>
inline void additive_backward(const Real* query, const Real* key, const Real* energy, int64_t width, Real grad_score,
                              AttentionGradients<Real> grad) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    const Real squashed = tanh_of(query[i] + key[i]);
    const Real slope = grad_score * energy[i] * (Real(1) - squashed * squashed);
    grad.energies[i] += grad_score * squashed;
    grad.keys[i] += slope;
    grad.queries[i] += slope;
  }
}

// Computes them from the gradients of contexts and, if defined, of weights.
template <typename Real>
void attend_backward(AttentionShape shape, SourceRows<Real> source, const Real* queries, const Real* weights,
                     const Real* grad_contexts, const Real* grad_weights, AttentionGradients<Real> grad) {
  over_rows(shape.batch, shape.source * (16 * shape.width + shape.values), [=](int64_t row) {
    const Real *query = queries + row * shape.width, *keys = source.keys + row * shape.source * shape.width;
    const Real *values = source.values + row * shape.source * shape.values, *energy = source.energy;
    const Real *weight = weights + row * shape.source, *grad_context = grad_contexts + row * shape.values;
    const Real* grad_weight = grad_weights ? grad_weights + row * shape.source : nullptr;
    const bool* real = source.real + row * shape.source;
    Real *grad_score = grad.scores + row * shape.source, *grad_query = grad.queries + row * shape.width;
    const int64_t width = shape.width, size = shape.values;
    Real mean = 0;
    for (int64_t key = 0; key < shape.source; ++key) {
      const Real* value = values + key * size;
      Real sum = 0;
      if (real[key]) {
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < size; ++i) sum += grad_context[i] * value[i];
        if (grad_weight) sum += grad_weight[key];
      }
      grad_score[key] = sum;
      mean += weight[key] * sum;
    }
    std::fill(grad_query, grad_query + width, Real(0));
    for (int64_t key = 0; key < shape.source; ++key) {
      const Real own = grad_score[key] = weight[key] * (grad_score[key] - mean) * Real(shape.scale);
      if (!real[key]) continue;
      const Real* this_key = keys + key * width;
      if (energy) {
        Real* grad_key = grad.keys + (row * shape.source + key) * width;
        additive_backward<Real>(query, this_key, energy, width, own,
                                {nullptr, grad_query, grad_key, grad.energies + row * width});
      } else {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) grad_query[i] += own * this_key[i];
      }
    }
  });
}

}  // namespace
