// The gates of recurrent cells, forward and backward, one row of the batch after the other.
#pragma once

#include "arithmetic.h"

namespace {

struct Sizes {
  int64_t batch, hidden;
};

// What one step adds up before its gates, besides what comes from the state: two products and a bias, some of them zeros.
template <typename R>
struct Entering {
  const R* whole;    // (batch, gates)
  const R* context;  // (batch, gates)
  const R* bias;     // (gates)
};

// Where a row is alive is a number here: with truth values compilers do not vectorise.
//
// GRU: r, z = sigmoid; n = tanh(x + r h); h' = n + z (h - n). Kept: r, z, n and W h + b of the candidate.
template <typename R>
void gru_forward(Sizes n, Entering<R> in, const R* rec, const R* bias, const R* before, const R* alive, R* after, R* kept) {
  over_rows(n.batch, 40 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *h = rec + b * 3 * H, *x = in.whole + b * 3 * H, *y = in.context + b * 3 * H, *w = in.bias;
    const R *v = bias, *o = before + b * H;
    R *k = kept + b * 4 * H, *a = after + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R r = sigmoid_of(x[j] + y[j] + w[j] + h[j] + v[j]);
      const R z = sigmoid_of(x[H + j] + y[H + j] + w[H + j] + h[H + j] + v[H + j]);
      const R own = h[2 * H + j] + v[2 * H + j];
      const R c = tanh_of(x[2 * H + j] + y[2 * H + j] + w[2 * H + j] + r * own);
      const R old = o[j];
      k[j] = r, k[H + j] = z, k[2 * H + j] = c, k[3 * H + j] = own;
      a[j] = on * (c + z * (old - c)) + off * old;
    }
  });
}

template <typename R>
void gru_backward(Sizes n, const R* kept, const R* before, const R* alive, R* by_state, R* by_in, R* by_rec) {
  over_rows(n.batch, 20 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *k = kept + b * 4 * H, *o = before + b * H;
    R *di = by_in + b * 3 * H, *dr = by_rec + b * 3 * H, *dh = by_state + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R r = k[j], z = k[H + j], c = k[2 * H + j], own = k[3 * H + j];
      const R g = on * dh[j];
      const R dc = g * (R(1) - z) * (R(1) - c * c);
      const R dz = g * (o[j] - c) * z * (R(1) - z);
      const R dreset = dc * own * r * (R(1) - r);
      di[j] = dreset, di[H + j] = dz, di[2 * H + j] = dc;
      dr[j] = dreset, dr[H + j] = dz, dr[2 * H + j] = dc * r;
      dh[j] = g * z + off * dh[j];
    }
  });
}

// LSTM: i, f, o = sigmoid, g = tanh; c' = f c + i g; h' = o tanh(c'). Kept: i, f, g, o.
template <typename R>
void lstm_forward(Sizes n, Entering<R> in, const R* rec, const R* bias, const R* before, const R* cells, const R* alive,
                  R* after, R* cells_after, R* kept) {
  over_rows(n.batch, 50 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *h = rec + b * 4 * H, *x = in.whole + b * 4 * H, *y = in.context + b * 4 * H, *w = in.bias;
    const R *v = bias, *s = before + b * H, *m = cells + b * H;
    R *k = kept + b * 4 * H, *a = after + b * H, *p = cells_after + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R i = sigmoid_of(x[j] + y[j] + w[j] + h[j] + v[j]);
      const R f = sigmoid_of(x[H + j] + y[H + j] + w[H + j] + h[H + j] + v[H + j]);
      const R g = tanh_of(x[2 * H + j] + y[2 * H + j] + w[2 * H + j] + h[2 * H + j] + v[2 * H + j]);
      const R o = sigmoid_of(x[3 * H + j] + y[3 * H + j] + w[3 * H + j] + h[3 * H + j] + v[3 * H + j]);
      const R old = m[j], c = f * old + i * g;
      k[j] = i, k[H + j] = f, k[2 * H + j] = g, k[3 * H + j] = o;
      p[j] = on * c + off * old;
      a[j] = on * o * tanh_of(c) + off * s[j];
    }
  });
}

template <typename R>
void lstm_backward(Sizes n, const R* kept, const R* cells, const R* cells_after, const R* alive, R* by_state, R* by_cell,
                   R* by_in) {
  over_rows(n.batch, 30 * n.hidden, [=](int64_t b) {
    const int64_t H = n.hidden;
    const R *k = kept + b * 4 * H, *m = cells + b * H, *p = cells_after + b * H;
    R *d = by_in + b * 4 * H, *dh = by_state + b * H, *dc = by_cell + b * H;
    const R on = alive ? alive[b] : R(1), off = R(1) - on;
#pragma omp simd
    for (int64_t j = 0; j < H; ++j) {
      const R i = k[j], f = k[H + j], g = k[2 * H + j], o = k[3 * H + j];
      const R t = tanh_of(p[j]);
      const R gh = on * dh[j];
      const R gc = on * dc[j] + gh * o * (R(1) - t * t);
      d[j] = gc * g * i * (R(1) - i);
      d[H + j] = gc * m[j] * f * (R(1) - f);
      d[2 * H + j] = gc * i * (R(1) - g * g);
      d[3 * H + j] = gh * t * o * (R(1) - o);
      dc[j] = gc * f + off * dc[j];
      dh[j] = off * dh[j];
    }
  });
}

}  // namespace
