// What all C++ parts compute with: tanh and sigmoid that compilers vectorise, rows shared among threads, matrix products.
#pragma once

#include "products.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

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

// A matrix (input, output) of any strides as `times_panels` takes it.
inline Tensor in_panels(const Tensor& matrix) {
  const int64_t inputs = matrix.size(0), outputs = matrix.size(1), down = matrix.stride(0), right = matrix.stride(1);
  const Tensor panels = at::zeros({(outputs + PANEL - 1) / PANEL, inputs, PANEL}, matrix.options());
  const float* from = read<float>(matrix);
  float* to = write<float>(panels);
  for (int64_t j = 0; j < outputs; ++j) {
    float* column = to + (j / PANEL) * inputs * PANEL + j % PANEL;
    for (int64_t k = 0; k < inputs; ++k) column[k * PANEL] = from[k * down + j * right];
  }
  return panels;
}

// x times a fixed matrix; where the matrix is bfloat16, so is the product, and what comes out is rounded up again.
class Product {
 public:
  Product() = default;
  explicit Product(const Tensor& matrix) : matrix_(matrix) {
    if (matrix.scalar_type() == at::kFloat) panels_ = in_panels(matrix);
  }
  void operator()(const Tensor& out, const Tensor& x) {
    if (panels_.defined() && x.is_contiguous() && out.is_contiguous()) {
      const Extent n{x.size(0), x.size(1), out.size(1)};
      const int64_t work = std::max<int64_t>(1, n.rows * n.inputs * PANEL);
      at::parallel_for(0, panels_.size(0), (WORTH_A_THREAD + work - 1) / work, [&](int64_t begin, int64_t end) {
        times_panels(n, read<float>(x), read<float>(panels_), nullptr, write<float>(out), begin, end);
      });
      return;
    }
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
  Tensor matrix_, panels_, narrow_, result_;
};

// x times a matrix, all rows of x at once; in bfloat16 where `low`.
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
