// The most probable tokens of a row of logits and their log-probabilities: log_softmax and topk fused, while the row is in
// the cache.
#pragma once

#include "exponential.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace {

class Likeliest {
 public:
  Likeliest(int64_t size, int64_t count) : size_(size), count_(count), largest_((size + RUN - 1) / RUN) {}

  // Writes `count` numbers each; if a logit is NaN or plus infinity, or all are minus infinity, log-probabilities are NaN.
  // The largest logit is subtracted first: added to the logarithm, it would cost precision where logits are far from 0.
  void find(const float* logits, float* log_probs, int64_t* ids) {
    const float most = maxima(logits), rest = std::log(sum(logits, most));
    if (rest != rest) {
      std::fill(log_probs, log_probs + count_, rest);
      std::iota(ids, ids + count_, 0);
      return;
    }
    collect(logits, threshold());
    const auto better = [=](int32_t one, int32_t two) {
      return logits[one] > logits[two] || (logits[one] == logits[two] && one < two);
    };
    std::partial_sort(found_.begin(), found_.begin() + count_, found_.end(), better);
    for (int64_t i = 0; i < count_; ++i) ids[i] = found_[i], log_probs[i] = logits[found_[i]] - most - rest;
  }

 private:
  static constexpr int64_t RUN = 64;

  // Finds the largest number of each run.
  float maxima(const float* logits) {
    for (int64_t run = 0; run < int64_t(largest_.size()); ++run) {
      const float* x = logits + run * RUN;
      const int64_t many = std::min(RUN, size_ - run * RUN);
      float most = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : most)
      for (int64_t i = 0; i < many; ++i) most = most > x[i] ? most : x[i];
      largest_[run] = most;
    }
    return *std::max_element(largest_.begin(), largest_.end());
  }

  float sum(const float* logits, float most) const {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < size_; ++i) total += exp_of(logits[i] - most);
    return total;
  }

  // At least `count` logits are this large, and few are larger: that many runs have one, if there are that many.
  float threshold() {
    if (int64_t(largest_.size()) < count_) return -std::numeric_limits<float>::infinity();
    sorted_ = largest_;
    std::nth_element(sorted_.begin(), sorted_.begin() + count_ - 1, sorted_.end(), std::greater<float>());
    return sorted_[count_ - 1];
  }

  void collect(const float* logits, float least) {
    found_.clear();
    for (int64_t run = 0; run < int64_t(largest_.size()); ++run) {
      if (largest_[run] < least) continue;
      const int64_t end = std::min(size_, (run + 1) * RUN);
      for (int64_t i = run * RUN; i < end; ++i) {
        if (logits[i] >= least) found_.push_back(static_cast<int32_t>(i));
      }
    }
  }

  int64_t size_, count_;
  std::vector<float> largest_, sorted_;
  std::vector<int32_t> found_;
};

}  // namespace
