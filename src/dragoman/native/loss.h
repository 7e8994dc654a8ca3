// Cross-entropy of one row of logits, which its gradient overwrites.
#pragma once

#include "exponential.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

inline double widened(double x) { return x; }
inline float widened(float x) { return x; }
inline float widened(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }
inline void put(double& to, double x) { to = x; }
inline void put(float& to, float x) { to = x; }
inline void put(uint16_t& to, float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  to = static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Turns the logits of one row, without the bias, into the gradient without its constant part; returns -log P(label), and in
// `smoothed` the same with the smoothing term. `probs` has room for the row.
template <typename R, typename S>
R row_loss(S* row, R* probs, int64_t size, const R* bias, int64_t label, R smoothing, R& smoothed) {
  R most = -std::numeric_limits<R>::infinity(), sum = 0, total = 0;
#pragma omp simd reduction(max : most) reduction(+ : sum)
  for (int64_t j = 0; j < size; ++j) {
    const R logit = widened(row[j]) + bias[j];
    probs[j] = logit;
    sum += logit;
    most = most > logit ? most : logit;
  }
  const R label_logit = probs[label];
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < size; ++j) {
    probs[j] = exp_of(probs[j] - most);
    total += probs[j];
  }
  const R label_prob = probs[label];
  probs[label] = 0;
  R rest = 0;
#pragma omp simd reduction(+ : rest)
  for (int64_t j = 0; j < size; ++j) rest += probs[j];
  const R share = R(1) / total;
  probs[label] = (smoothing - rest * share) * total;
#pragma omp simd
  for (int64_t j = 0; j < size; ++j) put(row[j], probs[j] * share);
  const R nll = label_prob > R(0.5) * total ? std::log1p(rest / label_prob) : std::log(total) + most - label_logit;
  smoothed = nll + smoothing * (label_logit - sum / R(size));
  return nll;
}

}  // namespace
