// The gates of recurrent cells, forward and backward, one row of the batch after the other.
#pragma once

#include "arithmetic.h"

namespace {

struct CellShape {
  int64_t batch, hidden;
};

// The terms of the pre-activations of one step: three products and two biases, some of them zero.
template <typename Real>
struct Gates {
  const Real* from_input;   // (batch, gates)
  const Real* from_other;   // (batch, gates), of the other input (context or fed vector)
  const Real* input_bias;   // (gates)
  const Real* from_hidden;  // (batch, gates)
  const Real* hidden_bias;  // (gates)
};

// Whether a row is alive is a number here (null: all are): compilers do not vectorise booleans.
//
// GRU: r, z = sigmoid; n = tanh(x + r h); h' = n + z (h - n). Kept: r, z, n and W h + b of the candidate.
template <typename Real>
void gru_forward(CellShape shape, Gates<Real> gates, const Real* before, const Real* alive, Real* after, Real* kept) {
  over_rows(shape.batch, 40 * shape.hidden, [=](int64_t row) {
    const int64_t hidden = shape.hidden;
    const Real *h = gates.from_hidden + row * 3 * hidden, *x = gates.from_input + row * 3 * hidden;
    const Real *y = gates.from_other + row * 3 * hidden, *w = gates.input_bias, *v = gates.hidden_bias;
    const Real* old_state = before + row * hidden;
    Real *keep = kept + row * 4 * hidden, *new_state = after + row * hidden;
    const Real on = alive ? alive[row] : Real(1), off = Real(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      const int64_t update_at = hidden + j, candidate_at = 2 * hidden + j;
      const Real reset = sigmoid_of(x[j] + y[j] + w[j] + h[j] + v[j]);
      const Real update = sigmoid_of(x[update_at] + y[update_at] + w[update_at] + h[update_at] + v[update_at]);
      const Real own = h[candidate_at] + v[candidate_at];
      const Real candidate = tanh_of(x[candidate_at] + y[candidate_at] + w[candidate_at] + reset * own);
      const Real old = old_state[j];
      keep[j] = reset, keep[update_at] = update, keep[candidate_at] = candidate, keep[3 * hidden + j] = own;
      new_state[j] = on * (candidate + update * (old - candidate)) + off * old;
    }
  });
}

// Turns `grad_state` from the gradient of the state after the step into that of the state before it, except for the product with
// the recurrent weights.
template <typename Real>
void gru_backward(CellShape shape, const Real* kept, const Real* before, const Real* alive, Real* grad_state,
                  Real* grad_input_gates, Real* grad_hidden_gates) {
  over_rows(shape.batch, 20 * shape.hidden, [=](int64_t row) {
    const int64_t hidden = shape.hidden;
    const Real *keep = kept + row * 4 * hidden, *old_state = before + row * hidden;
    Real *grad_input = grad_input_gates + row * 3 * hidden, *grad_hidden = grad_hidden_gates + row * 3 * hidden;
    Real* grad = grad_state + row * hidden;
    const Real on = alive ? alive[row] : Real(1), off = Real(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      const Real reset = keep[j], update = keep[hidden + j], candidate = keep[2 * hidden + j], own = keep[3 * hidden + j];
      const Real grad_new = on * grad[j];
      const Real grad_candidate = grad_new * (Real(1) - update) * (Real(1) - candidate * candidate);
      const Real grad_update = grad_new * (old_state[j] - candidate) * update * (Real(1) - update);
      const Real grad_reset = grad_candidate * own * reset * (Real(1) - reset);
      grad_input[j] = grad_reset, grad_input[hidden + j] = grad_update, grad_input[2 * hidden + j] = grad_candidate;
      grad_hidden[j] = grad_reset, grad_hidden[hidden + j] = grad_update;
      grad_hidden[2 * hidden + j] = grad_candidate * reset;
      grad[j] = grad_new * update + off * grad[j];
    }
  });
}

// Hidden vectors and memories before or after a step.
template <typename Number>
struct LstmState {
  Number* hidden;
  Number* memory;
};

// LSTM: i, f, o = sigmoid, g = tanh; c' = f c + i g; h' = o tanh(c'). Kept: i, f, g, o.
template <typename Real>
void lstm_forward(CellShape shape, Gates<Real> gates, LstmState<const Real> before, const Real* alive,
                  LstmState<Real> after, Real* kept) {
  over_rows(shape.batch, 50 * shape.hidden, [=](int64_t row) {
    const int64_t hidden = shape.hidden;
    const Real *h = gates.from_hidden + row * 4 * hidden, *x = gates.from_input + row * 4 * hidden;
    const Real *y = gates.from_other + row * 4 * hidden, *w = gates.input_bias, *v = gates.hidden_bias;
    const Real *old_state = before.hidden + row * hidden, *old_memory = before.memory + row * hidden;
    Real* keep = kept + row * 4 * hidden;
    Real *new_state = after.hidden + row * hidden, *new_memory = after.memory + row * hidden;
    const Real on = alive ? alive[row] : Real(1), off = Real(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      const int64_t forget_at = hidden + j, candidate_at = 2 * hidden + j, output_at = 3 * hidden + j;
      const Real input = sigmoid_of(x[j] + y[j] + w[j] + h[j] + v[j]);
      const Real forget = sigmoid_of(x[forget_at] + y[forget_at] + w[forget_at] + h[forget_at] + v[forget_at]);
      const Real candidate =
          tanh_of(x[candidate_at] + y[candidate_at] + w[candidate_at] + h[candidate_at] + v[candidate_at]);
      const Real output = sigmoid_of(x[output_at] + y[output_at] + w[output_at] + h[output_at] + v[output_at]);
      const Real old = old_memory[j], memory = forget * old + input * candidate;
      keep[j] = input, keep[forget_at] = forget, keep[candidate_at] = candidate, keep[output_at] = output;
      new_memory[j] = on * memory + off * old;
      new_state[j] = on * output * tanh_of(memory) + off * old_state[j];
    }
  });
}

// Turns `grad` from the gradient of the state after the step into that of the state before it, except for the product with the
// recurrent weights.
template <typename Real>
void lstm_backward(CellShape shape, const Real* kept, const Real* memory_before, const Real* memory_after,
                   const Real* alive, LstmState<Real> grad, Real* grad_gates) {
  over_rows(shape.batch, 30 * shape.hidden, [=](int64_t row) {
    const int64_t hidden = shape.hidden;
    const Real *keep = kept + row * 4 * hidden, *old_memory = memory_before + row * hidden;
    const Real* new_memory = memory_after + row * hidden;
    Real *grad_own = grad_gates + row * 4 * hidden, *grad_hidden = grad.hidden + row * hidden;
    Real* grad_memory = grad.memory + row * hidden;
    const Real on = alive ? alive[row] : Real(1), off = Real(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      const Real input = keep[j], forget = keep[hidden + j], candidate = keep[2 * hidden + j], output = keep[3 * hidden + j];
      const Real squashed = tanh_of(new_memory[j]);
      const Real grad_new = on * grad_hidden[j];
      const Real grad_kept = on * grad_memory[j] + grad_new * output * (Real(1) - squashed * squashed);
      grad_own[j] = grad_kept * candidate * input * (Real(1) - input);
      grad_own[hidden + j] = grad_kept * old_memory[j] * forget * (Real(1) - forget);
      grad_own[2 * hidden + j] = grad_kept * input * (Real(1) - candidate * candidate);
      grad_own[3 * hidden + j] = grad_new * squashed * output * (Real(1) - output);
      grad_memory[j] = grad_kept * forget + off * grad_memory[j];
      grad_hidden[j] = off * grad_hidden[j];
    }
  });
}

}  // namespace
