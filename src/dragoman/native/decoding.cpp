// The inner loops of search, where the overhead of torch's operations exceeds their arithmetic: products with few rows, and
// the top-k tokens of each row.
//
// Uses torch's stable interface only: it compiles in two seconds.
#include "likeliest.h"
#include "products.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include <optional>
#include <tuple>
#include <vector>

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// A contiguous float tensor.
Tensor in_order(const Tensor& tensor) {
  STD_TORCH_CHECK(tensor.scalar_type() == ScalarType::Float, "only float32 is supported");
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

// A new tensor with the shape of another except for its last axis.
Tensor like(const Tensor& tensor, int64_t last, int32_t type) {
  std::vector<int64_t> shape(tensor.dim()), strides(tensor.dim(), 1);
  for (int64_t axis = tensor.dim(); axis--;) {
    shape[axis] = axis == tensor.dim() - 1 ? last : tensor.size(axis);
    if (axis) strides[axis - 1] = strides[axis] * shape[axis];
  }
  AtenTensorHandle made;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(tensor.dim(), shape.data(), strides.data(), type,
                                                         aoti_torch_device_type_cpu(), 0, &made));
  return Tensor(made);
}

template <typename T>
const T* read(const Tensor& tensor) { return static_cast<const T*>(tensor.const_data_ptr()); }

template <typename T>
T* write(const Tensor& tensor) { return static_cast<T*>(tensor.mutable_data_ptr()); }

template <typename F>
void over(int64_t count, int64_t work, const F& body) {
  work = std::max<int64_t>(1, work);
  torch::stable::parallel_for(0, count, (WORTH_A_THREAD + work - 1) / work, body);
}

// inputs (..., input) float32; weight in panels, float32 or bfloat16; bias float32. If the weight is bfloat16, inputs and
// products are rounded to it too; all sums are in float32.
Tensor multiply(const Tensor& given, const Tensor& weight, const std::optional<Tensor>& bias, int64_t outputs) {
  const Tensor inputs = in_order(given), out = like(inputs, outputs, aoti_torch_dtype_float32());
  const Tensor added = bias.has_value() ? in_order(*bias) : inputs;
  const int64_t width = weight.size(1);
  const auto kind = weight.scalar_type();
  STD_TORCH_CHECK(kind == ScalarType::Float || kind == ScalarType::BFloat16, "the weight must be float32 or bfloat16");
  STD_TORCH_CHECK(weight.is_contiguous() && weight.dim() == 3 && weight.size(2) == PANEL, "the weight must be packed in panels");
  STD_TORCH_CHECK(width > 0 && inputs.size(-1) == width && outputs <= weight.size(0) * PANEL, "inputs do not fit the weight");
  STD_TORCH_CHECK(!bias.has_value() || added.numel() == outputs, "the bias does not fit the weight");
  const Extent n{inputs.numel() / width, width, outputs};
  const float *x = read<float>(inputs), *b = bias.has_value() ? read<float>(added) : nullptr;
  float* o = write<float>(out);
  const bool low = kind == ScalarType::BFloat16;
  std::vector<float> narrow;
  if (low) {
    narrow.resize(inputs.numel());
    std::transform(x, x + inputs.numel(), narrow.begin(), rounded);
    x = narrow.data();
  }
  over(weight.size(0), n.rows * n.inputs * PANEL, [&](int64_t begin, int64_t end) {
    if (low) {
      times_panels(n, x, read<uint16_t>(weight), b, o, begin, end);
    } else {
      times_panels(n, x, read<float>(weight), b, o, begin, end);
    }
  });
  return out;
}

// logits (rows, tokens) float32. Returns the log-probabilities and ids of the `count` most probable tokens of each row, best
// first.
std::tuple<Tensor, Tensor> likeliest(const Tensor& given, int64_t count) {
  const Tensor logits = in_order(given), ids = like(logits, count, aoti_torch_dtype_int64());
  const Tensor log_probs = like(logits, count, aoti_torch_dtype_float32());
  const int64_t size = logits.size(1);
  STD_TORCH_CHECK(0 < count && count <= size, "there are ", size, " tokens, not ", count);
  over(logits.size(0), 8 * size, [&](int64_t begin, int64_t end) {
    Likeliest row(size, count);
    for (int64_t r = begin; r < end; ++r) {
      row.find(read<float>(logits) + r * size, write<float>(log_probs) + r * count, write<int64_t>(ids) + r * count);
    }
  });
  return {log_probs, ids};
}

}  // namespace

STABLE_TORCH_LIBRARY(dragoman_decoding, library) {
  library.def("multiply(Tensor inputs, Tensor weight, Tensor? bias, int outputs) -> Tensor");
  library.def("likeliest(Tensor logits, int count) -> (Tensor, Tensor)");
}

STABLE_TORCH_LIBRARY_IMPL(dragoman_decoding, CPU, library) {
  library.impl("multiply", TORCH_BOX(&multiply));
  library.impl("likeliest", TORCH_BOX(&likeliest));
}
