// exp of numbers up to 0, in plain arithmetic so that compilers vectorise it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace {

inline double exp_of(double x) { return std::exp(x); }

// 2^i times a polynomial for e^f, |f| <= ln 2 / 2, within 2e-7 of exp; below -87, the limit of float, e^-87.
inline float exp_of(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float whole = std::floor(x * 1.44269504f + 0.5f);
  const float f = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * f + 1.3981999507e-3f;
  p = p * f + 8.3334519073e-3f;
  p = p * f + 4.1665795894e-2f;
  p = p * f + 1.6666665459e-1f;
  p = p * f + 5.0000001201e-1f;
  p = p * f * f + f + 1.0f;
  return p * std::bit_cast<float>((static_cast<int32_t>(whole) + 127) << 23);
}

}  // namespace
