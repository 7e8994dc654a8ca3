// Shared arithmetic: tanh and sigmoid that compilers vectorise, rows split among threads, matrix products.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using Tensors = std::vector<Tensor>;

inline double tanh_of(double x) { return std::tanh(x); }

// A rational approximation within 4e-7 of tanh, in plain arithmetic so that compilers vectorise it (as in Eigen).
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

// x times a fixed matrix; if the matrix is bfloat16, so is the product, and the result is converted back.
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

// x times a matrix, all rows of x at once; in bfloat16 if `low`.
inline Tensor product(const Tensor& x, const Tensor& matrix, bool low) {
  if (!low) return at::mm(x, matrix);
  return at::mm(x.to(at::kBFloat16), matrix.to(at::kBFloat16)).to(x.scalar_type());
}

template <typename R>
void add_to(const Tensor& sum, const R* m) {
  R* s = write<R>(sum);
  at::parallel_for(0, sum.numel(), 32768, [=](int64_t first, int64_t last) {
#pragma omp simd
    for (int64_t i = first; i < last; ++i) s[i] += m[i];
  });
}

}  // namespace
