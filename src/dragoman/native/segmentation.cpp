// Byte pair encoding with dropout: words of symbols are merged at random.
//
// Uses torch's stable interface only: it compiles in seconds.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// The Mersenne Twister of Matsumoto and Nishimura (1998), as Python's `random` has it, on a state that the caller keeps: 624
// words and the number of those used.
class Twister {
 public:
  explicit Twister(int64_t* state) : state_(state) {}

  // A number from 0 to below 1 with 53 random bits.
  double uniform() {
    const uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

 private:
  static constexpr int SIZE = 624, SHIFT = 397;

  uint32_t word(int at) const { return static_cast<uint32_t>(state_[at % SIZE]); }

  uint32_t next() {
    if (state_[SIZE] >= SIZE) {
      for (int at = 0; at < SIZE; ++at) {
        const uint32_t mixed = (word(at) & 0x80000000u) | (word(at + 1) & 0x7fffffffu);
        state_[at] = word(at + SHIFT) ^ (mixed >> 1) ^ (mixed & 1 ? 0x9908b0dfu : 0u);
      }
      state_[SIZE] = 0;
    }
    uint32_t drawn = word(static_cast<int>(state_[SIZE]++));
    drawn ^= drawn >> 11;
    drawn ^= (drawn << 7) & 0x9d2c5680u;
    drawn ^= (drawn << 15) & 0xefc60000u;
    return drawn ^ (drawn >> 18);
  }

  int64_t* state_;
};

// The merges that were learned. Those whose left symbol is l are from begins[l] to begins[l + 1], sorted by their right symbol;
// a merge gives the symbol `merged`, and one that gives a smaller symbol is better.
struct Merges {
  static constexpr int32_t NONE = std::numeric_limits<int32_t>::max();

  const int64_t* begins;
  int64_t symbols;
  const int32_t* rights;
  const int32_t* merged;

  int32_t find(int32_t left, int32_t right) const {
    if (left < 0 || right < 0) {
      return NONE;
    }
    const int32_t *first = rights + begins[left], *last = rights + begins[left + 1];
    const int32_t* found = std::lower_bound(first, last, right);
    return found != last && *found == right ? merged[found - rights] : NONE;
  }
};

// One word after the other, as `BpeDropout` defines it in text/sampling.py.
class Segmenter {
 public:
  Segmenter(Merges merges, Twister twister, double rate) : merges_(merges), twister_(twister), rate_(rate) {}

  // Merges `size` symbols where they are, and returns how many are left.
  int64_t segment(int32_t* symbols, int64_t size) {
    std::vector<int32_t>& found = found_;
    found.resize(std::max<int64_t>(size - 1, 0));
    for (int64_t at = 0; at + 1 < size; ++at) {
      found[at] = merges_.find(symbols[at], symbols[at + 1]);
    }
    double kept = std::log(1.0 - twister_.uniform()) / std::log1p(-rate_);
    while (true) {
      const int64_t at = kept >= 1.0 ? best(found) : drawn(found, kept >= 0.0);
      kept = kept >= 1.0 ? kept - 1.0 : -1.0;
      if (at < 0) {
        return size;
      }
      symbols[at] = found[at];
      std::copy(symbols + at + 2, symbols + size, symbols + at + 1);
      found.erase(found.begin() + at);
      --size;
      for (int64_t changed = std::max<int64_t>(at - 1, 0); changed <= at && changed + 1 < size; ++changed) {
        found[changed] = merges_.find(symbols[changed], symbols[changed + 1]);
      }
    }
  }

 private:
  // The place of the best merge, the leftmost of equal ones, or -1.
  static int64_t best(const std::vector<int32_t>& found) {
    const auto least = std::min_element(found.begin(), found.end());
    return least == found.end() || *least == Merges::NONE ? -1 : least - found.begin();
  }

  // The place of the best merge that is not dropped, or -1; `dropped`: the best one is, without being drawn.
  int64_t drawn(const std::vector<int32_t>& found, bool dropped) {
    left_ = found;
    while (true) {
      const int64_t at = best(left_);
      if (at < 0 || (!dropped && twister_.uniform() >= rate_)) {
        return at;
      }
      left_[at] = Merges::NONE;
      dropped = false;
    }
  }

  Merges merges_;
  Twister twister_;
  double rate_;
  std::vector<int32_t> found_, left_;
};

bool is_vector(const Tensor& tensor, ScalarType type) {
  return tensor.scalar_type() == type && tensor.dim() == 1 && tensor.is_contiguous();
}

// symbols int32, of all words one after the other (-1: in no merge); ends int64, where each word ends; begins int64, rights and
// merged int32 (see Merges); state int64 of 625 numbers. Replaces the symbols of each word by what is left after merging, from
// its beginning on, the ends by how many those are, and the state by the one after.
void drop_merges(Tensor symbols, Tensor ends, const Tensor& begins, const Tensor& rights, const Tensor& merged, Tensor state,
                 double rate) {
  STD_TORCH_CHECK(is_vector(symbols, ScalarType::Int) && is_vector(ends, ScalarType::Long), "words must be vectors of integers");
  STD_TORCH_CHECK(is_vector(state, ScalarType::Long) && state.numel() == 625, "the state must have 625 numbers");
  STD_TORCH_CHECK(is_vector(begins, ScalarType::Long) && begins.numel() > 0 && is_vector(rights, ScalarType::Int) &&
                      is_vector(merged, ScalarType::Int) && rights.numel() == merged.numel(),
                  "merges must be vectors of integers");
  STD_TORCH_CHECK(0 < rate && rate < 1, "the rate must be between 0 and 1");
  auto* symbol = static_cast<int32_t*>(symbols.mutable_data_ptr());
  auto* end = static_cast<int64_t*>(ends.mutable_data_ptr());
  auto* numbers = static_cast<int64_t*>(state.mutable_data_ptr());
  const Merges merges{static_cast<const int64_t*>(begins.const_data_ptr()), begins.numel() - 1,
                      static_cast<const int32_t*>(rights.const_data_ptr()), static_cast<const int32_t*>(merged.const_data_ptr())};
  const auto is_known = [&](int32_t one) { return -1 <= one && one < merges.symbols; };
  STD_TORCH_CHECK(std::is_sorted(merges.begins, merges.begins + begins.numel()) && merges.begins[0] == 0 &&
                      merges.begins[merges.symbols] == rights.numel() &&
                      std::all_of(merges.merged, merges.merged + merged.numel(), is_known) &&
                      std::all_of(symbol, symbol + symbols.numel(), is_known),
                  "symbols and merges do not fit");
  STD_TORCH_CHECK(ends.numel() == 0 ? symbols.numel() == 0
                                    : std::is_sorted(end, end + ends.numel()) && end[0] >= 0 && end[ends.numel() - 1] == symbols.numel(),
                  "the words do not cover the symbols");
  STD_TORCH_CHECK(0 <= numbers[624] && numbers[624] <= 624, "the state has no such place");
  Segmenter segmenter(merges, Twister(numbers), rate);
  for (int64_t word = 0, begin = 0; word < ends.numel(); ++word) {
    const int64_t next = end[word];
    end[word] = segmenter.segment(symbol + begin, next - begin);
    begin = next;
  }
}

}  // namespace

STABLE_TORCH_LIBRARY(dragoman_segmentation, library) {
  library.def(
      "drop_merges(Tensor(a!) symbols, Tensor(b!) ends, Tensor begins, Tensor rights, Tensor merged, Tensor(c!) state, "
      "float rate) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(dragoman_segmentation, CPU, library) { library.impl("drop_merges", TORCH_BOX(&drop_merges)); }
