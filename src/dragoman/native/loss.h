// Cross-entropy of a linear layer and its gradient, in chunks of rows: logits are read and overwritten in one pass.
#pragma once

#include "arithmetic.h"
#include "exponential.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <c10/util/Exception.h>

#include <algorithm>
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

// Turns the logits of one row into the gradient without its constant part; returns -log P(label), and adds the smoothing
// term to the loss.
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

template <typename R, typename S>
void rows_loss(const Tensor& logits, const Tensor& bias, const int64_t* labels, R smoothing, double* smoothed, double* plain) {
  const int64_t size = logits.size(1);
  S* whole = static_cast<S*>(logits.mutable_data_ptr());
  const R* shift = read<R>(bias);
  at::parallel_for(0, logits.size(0), std::max<int64_t>(1, 32768 / size), [&](int64_t first, int64_t last) {
    std::vector<R> probs(size);
    for (int64_t row = first; row < last; ++row) {
      R sum = 0;
      plain[row] = row_loss<R, S>(whole + row * size, probs.data(), size, shift, labels[row], smoothing, sum);
      smoothed[row] = sum;
    }
  });
}

// features (tokens, width) and weight (vocabulary, width) of the same type; labels int64. Returns the label-smoothed and the
// plain sum over tokens and, if `gradients`, the gradients of the former by features, weight and bias.
Tensors cross_entropy(const Tensor& features, const Tensor& weight, const OptionalTensor& given, const Tensor& labels,
                      double smoothing, bool low, int64_t piece, bool gradients) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const Tensor bias = given.has_value() ? *given : at::zeros({weight.size(0)}, weight.options());
  const auto kind = low ? at::kBFloat16 : features.scalar_type();
  const Tensor read_all = features.to(kind), matrix = weight.to(kind);
  const int64_t rows = features.size(0);
  const int64_t *given_labels = labels.const_data_ptr<int64_t>(), size = weight.size(0);
  const auto is_known = [=](int64_t label) { return 0 <= label && label < size; };
  TORCH_CHECK(labels.numel() == rows && std::all_of(given_labels, given_labels + rows, is_known),
              "each row needs one label from 0 to ", size - 1);
  Tensor grad_features, grad_weight, grad_bias;
  if (gradients) {
    grad_features = at::empty_like(read_all), grad_weight = at::zeros_like(weight), grad_bias = at::zeros_like(bias);
  }
  std::vector<double> smoothed(rows), plain(rows);
  for (int64_t first = 0; first < rows; first += piece) {
    const int64_t count = std::min(piece, rows - first);
    const Tensor some = read_all.narrow(0, first, count), logits = at::mm(some, matrix.t());
    const int64_t* label = given_labels + first;
    double *sums = smoothed.data() + first, *plains = plain.data() + first;
    if (low) {
      rows_loss<float, uint16_t>(logits, bias, label, float(smoothing), sums, plains);
    } else if (kind == at::kDouble) {
      rows_loss<double, double>(logits, bias, label, smoothing, sums, plains);
    } else {
      rows_loss<float, float>(logits, bias, label, float(smoothing), sums, plains);
    }
    if (!gradients) continue;
    Tensor into = grad_features.narrow(0, first, count);
    at::mm_out(into, logits, matrix);
    if (low) {
      grad_weight.add_(at::mm(logits.t(), some));
    } else {
      grad_weight.addmm_(logits.t(), some);
    }
    grad_bias.add_(logits.sum(at::IntArrayRef{0}, false, bias.scalar_type()));
  }
  double totals[2] = {0, 0};
  for (int64_t row = 0; row < rows; ++row) totals[0] += smoothed[row], totals[1] += plain[row];
  Tensors results;
  for (const double total : totals) results.push_back(at::full({}, total, bias.options()));
  if (!gradients) return results;
  if (smoothing) {
    const double each = smoothing / double(weight.size(0));
    grad_features.sub_(weight.mean(0).to(kind), smoothing);
    grad_weight.sub_(read_all.sum(at::IntArrayRef{0}, false, weight.scalar_type()), each);
    grad_bias.sub_(each * double(rows));
  }
  results.insert(results.end(), {grad_features.to(features.scalar_type()), grad_weight, grad_bias});
  return results;
}

}  // namespace
