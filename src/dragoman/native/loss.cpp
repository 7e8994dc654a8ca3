// The loss of an output layer, between its matrix products: logits are read and overwritten in one pass.
//
// Uses torch's stable interface only: it compiles in seconds.
#include "loss.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// A new vector of one number for each row of a matrix.
Tensor per_row(const Tensor& matrix, int32_t type) {
  const int64_t size = matrix.size(0), stride = 1;
  AtenTensorHandle made;
  STABLE_TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(1, &size, &stride, type, aoti_torch_device_type_cpu(), 0, &made));
  return Tensor(made);
}

template <typename R, typename S>
void rows_loss(const Tensor& logits, const std::optional<Tensor>& bias, const int64_t* labels, R smoothing, R* smoothed, R* plain) {
  const int64_t size = logits.size(1);
  S* whole = static_cast<S*>(logits.mutable_data_ptr());
  const std::vector<R> none(bias.has_value() ? 0 : size);
  const R* shift = bias.has_value() ? static_cast<const R*>(bias->const_data_ptr()) : none.data();
  torch::stable::parallel_for(0, logits.size(0), std::max<int64_t>(1, 32768 / size), [&](int64_t first, int64_t last) {
    std::vector<R> probs(size);
    for (int64_t row = first; row < last; ++row) {
      plain[row] = row_loss<R, S>(whole + row * size, probs.data(), size, shift, labels[row], smoothing, smoothed[row]);
    }
  });
}

// logits (tokens, vocabulary) float32, float64 or bfloat16, without the bias; bias float64 if the logits are, else float32.
// Returns the label-smoothed and the plain cross-entropy of each token, in the type of the bias; the logits become the
// gradient of the former without its constant part, minus smoothing / vocabulary.
std::tuple<Tensor, Tensor> losses(const Tensor& logits, const std::optional<Tensor>& bias, const Tensor& labels, double smoothing) {
  const auto kind = logits.scalar_type();
  const bool wide = kind == ScalarType::Double;
  STD_TORCH_CHECK(wide || kind == ScalarType::Float || kind == ScalarType::BFloat16, "logits must be float32, float64 or bfloat16");
  STD_TORCH_CHECK(logits.dim() == 2 && logits.is_contiguous() && logits.size(1) > 0, "logits must be a contiguous matrix");
  STD_TORCH_CHECK(labels.scalar_type() == ScalarType::Long && labels.is_contiguous(), "labels must be contiguous and int64");
  const int64_t rows = logits.size(0), size = logits.size(1);
  STD_TORCH_CHECK(!bias.has_value() || (bias->is_contiguous() && bias->numel() == size &&
                                        bias->scalar_type() == (wide ? ScalarType::Double : ScalarType::Float)),
                  "the bias does not fit the logits");
  const int64_t* label = static_cast<const int64_t*>(labels.const_data_ptr());
  const auto is_known = [=](int64_t one) { return 0 <= one && one < size; };
  STD_TORCH_CHECK(labels.numel() == rows && std::all_of(label, label + rows, is_known), "each row needs one label from 0 to ",
                  size - 1);
  const auto type = wide ? aoti_torch_dtype_float64() : aoti_torch_dtype_float32();
  const Tensor smoothed = per_row(logits, type), plain = per_row(logits, type);
  const auto run = [&]<typename R, typename S>(R, S) {
    rows_loss<R, S>(logits, bias, label, R(smoothing), static_cast<R*>(smoothed.mutable_data_ptr()),
                    static_cast<R*>(plain.mutable_data_ptr()));
  };
  if (wide) {
    run(double(), double());
  } else if (kind == ScalarType::Float) {
    run(float(), float());
  } else {
    run(float(), uint16_t());
  }
  return {smoothed, plain};
}

}  // namespace

STABLE_TORCH_LIBRARY(dragoman_loss, library) {
  library.def("losses(Tensor(a!) logits, Tensor? bias, Tensor labels, float smoothing) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(dragoman_loss, CPU, library) { library.impl("losses", TORCH_BOX(&losses)); }
