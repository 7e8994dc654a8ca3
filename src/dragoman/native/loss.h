// Cross-entropy of a linear layer and its gradient, in pieces of rows: logits are read and overwritten in one go.
#pragma once

#include "arithmetic.h"
#include "exponential.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <bit>
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

// Turns the logits of one row into the gradient without its part that is the same for all; returns -log P(label), and adds
// what smoothing adds to the loss.
template <typename R, typename S>
R one_row(S* row, R* chances, int64_t size, const R* bias, int64_t label, R smoothing, R& smoothed) {
  R most = -std::numeric_limits<R>::infinity(), sum = 0, total = 0;
#pragma omp simd reduction(max : most) reduction(+ : sum)
  for (int64_t j = 0; j < size; ++j) {
    const R logit = widened(row[j]) + bias[j];
    chances[j] = logit;
    sum += logit;
    most = most > logit ? most : logit;
  }
  const R own = chances[label];
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < size; ++j) {
    chances[j] = exp_of(chances[j] - most);
    total += chances[j];
  }
  const R likely = chances[label];
  chances[label] = 0;
  R rest = 0;
#pragma omp simd reduction(+ : rest)
  for (int64_t j = 0; j < size; ++j) rest += chances[j];
  const R share = R(1) / total;
  chances[label] = (smoothing - rest * share) * total;
#pragma omp simd
  for (int64_t j = 0; j < size; ++j) put(row[j], chances[j] * share);
  const R surprise = likely > R(0.5) * total ? std::log1p(rest / likely) : std::log(total) + most - own;
  smoothed = surprise + smoothing * (own - sum / R(size));
  return surprise;
}

template <typename R, typename S>
void rows_of(const Tensor& logits, const Tensor& bias, const int64_t* labels, R smoothing, double* smoothed, double* plain) {
  const int64_t size = logits.size(1);
  S* whole = static_cast<S*>(logits.mutable_data_ptr());
  const R* shift = read<R>(bias);
  at::parallel_for(0, logits.size(0), std::max<int64_t>(1, 32768 / size), [&](int64_t first, int64_t last) {
    std::vector<R> chances(size);
    for (int64_t row = first; row < last; ++row) {
      R sum = 0;
      plain[row] = one_row<R, S>(whole + row * size, chances.data(), size, shift, labels[row], smoothing, sum);
      smoothed[row] = sum;
    }
  });
}

// features (tokens, width) and weight (vocabulary, width) in one type; labels int64. Returns the label-smoothed and the plain
// sum over tokens and, where `gradients`, those of the first by features, weight and bias.
Tensors cross_entropy(const Tensor& features, const Tensor& weight, const OptionalTensor& given, const Tensor& labels, double smoothing,
                   bool low, int64_t piece, bool gradients) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Tensor bias = given.has_value() ? *given : at::zeros({weight.size(0)}, weight.options());
  const auto kind = low ? at::kBFloat16 : features.scalar_type();
  const Tensor read_all = features.to(kind), matrix = weight.to(kind);
  const int64_t rows = features.size(0);
  Tensor by_features, by_weight, by_bias;
  if (gradients) {
    by_features = at::empty_like(read_all), by_weight = at::zeros_like(weight), by_bias = at::zeros_like(bias);
  }
  std::vector<double> smoothed(rows), plain(rows);
  for (int64_t first = 0; first < rows; first += piece) {
    const int64_t count = std::min(piece, rows - first);
    const Tensor some = read_all.narrow(0, first, count), logits = at::mm(some, matrix.t());
    const int64_t* label = labels.const_data_ptr<int64_t>() + first;
    double *sums = smoothed.data() + first, *plains = plain.data() + first;
    if (low) {
      rows_of<float, uint16_t>(logits, bias, label, float(smoothing), sums, plains);
    } else if (kind == at::kDouble) {
      rows_of<double, double>(logits, bias, label, smoothing, sums, plains);
    } else {
      rows_of<float, float>(logits, bias, label, float(smoothing), sums, plains);
    }
    if (!gradients) continue;
    Tensor into = by_features.narrow(0, first, count);
    at::mm_out(into, logits, matrix);
    if (low) {
      by_weight.add_(at::mm(logits.t(), some));
    } else {
      by_weight.addmm_(logits.t(), some);
    }
    by_bias.add_(logits.sum(at::IntArrayRef{0}, false, bias.scalar_type()));
  }
  double totals[2] = {0, 0};
  for (int64_t row = 0; row < rows; ++row) totals[0] += smoothed[row], totals[1] += plain[row];
  Tensors results;
  for (const double total : totals) results.push_back(at::full({}, total, bias.options()));
  if (!gradients) return results;
  if (smoothing) {
    const double each = smoothing / double(weight.size(0));
    by_features.sub_(weight.mean(0).to(kind), smoothing);
    by_weight.sub_(read_all.sum(at::IntArrayRef{0}, false, weight.scalar_type()), each);
    by_bias.sub_(each * double(rows));
  }
  results.insert(results.end(), {by_features.to(features.scalar_type()), by_weight, by_bias});
  return results;
}

}  // namespace
