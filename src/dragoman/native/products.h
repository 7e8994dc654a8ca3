// Products of few rows with a constant weight. The weight is packed in panels, (panel, input, 32 outputs), so that a step of
// the inner loop reads one line of it for all rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace {

constexpr int64_t PANEL = 32;
constexpr int64_t WORTH_A_THREAD = 500000;  // multiplications
#if defined(__AVX512F__)
constexpr int LANES = 16, ROWS_AT_ONCE = 8;  // numbers in a register; rows whose sums stay in registers
#elif defined(__AVX2__)
constexpr int LANES = 8, ROWS_AT_ONCE = 3;
#else
constexpr int LANES = 4, ROWS_AT_ONCE = 2;
#endif
constexpr int VECTORS = PANEL / LANES;

typedef float Floats __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

inline Floats load(const float* from) {
  Floats floats;
  std::memcpy(&floats, from, sizeof(floats));
  return floats;
}

// bfloat16 is the upper half of a float.
inline Floats load(const uint16_t* from) {
  Halves halves;
  std::memcpy(&halves, from, sizeof(halves));
  const Words words = __builtin_convertvector(halves, Words) << 16;
  Floats floats;
  std::memcpy(&floats, &words, sizeof(floats));
  return floats;
}

// To the nearest bfloat16, ties to even; NaN stays NaN.
inline float rounded(float x) {
  const uint32_t word = std::bit_cast<uint32_t>(x);
  return x != x ? x : std::bit_cast<float>((word + 0x7fffu + ((word >> 16) & 1u)) & 0xffff0000u);
}

// ROWS rows times one panel.
template <int ROWS, typename Weight>
void times_panel(const float* x, int64_t inputs, const Weight* panel, float (*out)[PANEL]) {
  Floats sums[ROWS][VECTORS] = {};
  for (int64_t k = 0; k < inputs; ++k) {
    Floats line[VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) line[v] = load(panel + k * PANEL + v * LANES);
#pragma GCC unroll 8
    for (int row = 0; row < ROWS; ++row) {
      const float one = x[row * inputs + k];
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; ++v) sums[row][v] += one * line[v];
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

template <typename Weight, int... COUNTS>
void times_panel(int64_t rows, const float* x, int64_t inputs, const Weight* panel, float (*out)[PANEL],
                 std::integer_sequence<int, COUNTS...>) {
  ((rows == COUNTS + 1 ? times_panel<COUNTS + 1>(x, inputs, panel, out) : void()), ...);
}

struct Extent {
  int64_t rows, inputs, outputs;
};

template <typename Weight>
void times_panels(Extent n, const float* x, const Weight* weight, const float* bias, float* out, int64_t begin, int64_t end) {
  float sums[ROWS_AT_ONCE][PANEL];
  for (int64_t p = begin; p < end; ++p) {
    const int64_t count = std::min(PANEL, n.outputs - p * PANEL);
    for (int64_t first = 0; first < n.rows; first += ROWS_AT_ONCE) {
      const int64_t rows = std::min<int64_t>(ROWS_AT_ONCE, n.rows - first);
      times_panel(rows, x + first * n.inputs, n.inputs, weight + p * n.inputs * PANEL, sums,
                  std::make_integer_sequence<int, ROWS_AT_ONCE>());
      for (int64_t row = 0; row < rows; ++row) {
        float* o = out + (first + row) * n.outputs + p * PANEL;
        for (int64_t j = 0; j < count; ++j) {
          const float sum = sizeof(Weight) == 2 ? rounded(sums[row][j]) : sums[row][j];
          o[j] = bias ? sum + bias[p * PANEL + j] : sum;
        }
      }
    }
  }
}

}  // namespace
