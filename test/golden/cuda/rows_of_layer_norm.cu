// rows: mapping rows, width 4, threadsP 4, threadsR 64, chunks 1, sharedChunks 0, held true
// rows_of_layer_norm_rows: grid 6 × 1 × 1, block 256, arguments block.x 0x00000015 0x00000014 0x000000c0 b0 0x43400000 0x3727c5ac b1 b2 b3 b4

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

/* The value that lane (lane ^ mask) holds. */
template <class T>
__device__ __forceinline__ T weft_exchange(T a, int mask) {
  union {
    T value;
    unsigned int words[(sizeof(T) + 3) / 4];
  } mine, other;
  mine.words[(sizeof(T) + 3) / 4 - 1] = 0;
  mine.value = a;
#pragma unroll
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k) other.words[k] = __shfl_xor_sync(0xffffffffu, mine.words[k], mask);
  return other.value;
}

/* Count, mean and sum of squared deviations (Chan, Golub and LeVeque, 1979). D is the type of a squared deviation.
   Where deviations overflow, the mean no longer counts and is 0: a difference of two infinities would be NaN. */
template <class T, class D>
struct weft_moments {
  D count;
  T mean;
  D deviations;
};
__device__ __forceinline__ float weft_square_of(float a) { return a * a; }
__device__ __forceinline__ double weft_square_of(double a) { return a * a; }
__device__ __forceinline__ float weft_scaled(float a, float s) { return a * s; }
__device__ __forceinline__ double weft_scaled(double a, double s) { return a * s; }
__device__ __forceinline__ float weft_product_of(float a, float b) { return a * b; }
__device__ __forceinline__ double weft_product_of(double a, double b) { return a * b; }
/* A sum with a product: of real numbers one operation, since kernels are compiled without contraction. */
template <class T, class S>
__device__ __forceinline__ T weft_added_scaled(T sum, T a, S s) { return sum + weft_scaled(a, s); }
__device__ __forceinline__ float weft_added_scaled(float sum, float a, float s) { return fmaf(a, s, sum); }
__device__ __forceinline__ double weft_added_scaled(double sum, double a, double s) { return fma(a, s, sum); }
template <class T, class D>
__device__ __forceinline__ D weft_added_product(D sum, T a, T b) { return sum + weft_product_of(a, b); }
__device__ __forceinline__ float weft_added_product(float sum, float a, float b) { return fmaf(a, b, sum); }
__device__ __forceinline__ double weft_added_product(double sum, double a, double b) { return fma(a, b, sum); }
template <class T, class D>
__device__ __forceinline__ D weft_added_square(D sum, T a) { return sum + weft_square_of(a); }
__device__ __forceinline__ float weft_added_square(float sum, float a) { return fmaf(a, a, sum); }
__device__ __forceinline__ double weft_added_square(double sum, double a) { return fma(a, a, sum); }
/* 0, but NaN for what is not finite. */
__device__ __forceinline__ float weft_undefined_of(float a) { return a - a; }
__device__ __forceinline__ double weft_undefined_of(double a) { return a - a; }
/* The share of a count in a larger one: its last bits only weigh the difference of two means. */
__device__ __forceinline__ float weft_share(float part, float whole) { return __fdividef(part, whole); }
__device__ __forceinline__ double weft_share(double part, double whole) { return part / whole; }
template <class T, class D>
__device__ __forceinline__ weft_moments<T, D> weft_combine(weft_moments<T, D> a, weft_moments<T, D> b) {
  const D count = a.count + b.count;
  const D share = count == (D)0 ? (D)0 : weft_share(b.count, count);
  const T delta = b.mean - a.mean;
  weft_moments<T, D> r;
  r.count = count;
  /* Weighed before it is squared: an empty side must not meet an infinity. */
  r.deviations = weft_added_product(a.deviations + b.deviations, weft_scaled(delta, a.count * share), delta);
  r.mean = r.deviations - r.deviations == (D)0 ? weft_added_scaled(a.mean, delta, share) : T();
  return r;
}
/* The moments of a few values: two passes over registers. */
template <class T, class D, int N>
__device__ __forceinline__ weft_moments<T, D> weft_moments_of(const T (&x)[N]) {
  /* Scaled first, by a power of two, since the sum may overflow. */
  T mean = weft_scaled(x[0], (D)1 / (D)N);
#pragma unroll
  for (int k = 1; k < N; ++k) mean = weft_added_scaled(mean, x[k], (D)1 / (D)N);
  weft_moments<T, D> r;
  r.count = (D)N;
  r.mean = mean;
  r.deviations = weft_square_of(x[0] - r.mean);
#pragma unroll
  for (int k = 1; k < N; ++k) r.deviations = weft_added_square(r.deviations, x[k] - r.mean);
  if (!(r.deviations - r.deviations == (D)0)) r.mean = T();
  return r;
}

/* The greatest value and the sum of exp(x - greatest). */
template <class T>
struct weft_logsum {
  T greatest;
  T sum;
};
__device__ __forceinline__ float weft_exp_of(float a) { return expf(a); }
__device__ __forceinline__ double weft_exp_of(double a) { return exp(a); }
/* exp(-|a - b|), but 1 where the two are the same infinity. */
template <class T>
__device__ __forceinline__ T weft_ratio(T a, T b) {
  return a == b ? (T)1 : weft_exp_of(-fabs(a - b));
}
template <class T>
__device__ __forceinline__ weft_logsum<T> weft_push(weft_logsum<T> a, T x) {
  const T e = weft_ratio(a.greatest, x);
  const bool above = x > a.greatest;
  weft_logsum<T> r;
  r.sum = above ? a.sum * e + (T)1 : a.sum + e;
  r.greatest = above ? x : a.greatest;
  return r;
}
template <class T>
__device__ __forceinline__ weft_logsum<T> weft_combine(weft_logsum<T> a, weft_logsum<T> b) {
  const T e = weft_ratio(a.greatest, b.greatest);
  const bool above = b.greatest > a.greatest;
  weft_logsum<T> r;
  r.sum = above ? a.sum * e + b.sum : a.sum + b.sum * e;
  r.greatest = above ? b.greatest : a.greatest;
  return r;
}
__device__ __forceinline__ float weft_log_of(weft_logsum<float> a) {
  return fabsf(a.greatest) == __int_as_float(0x7f800000) && a.sum == a.sum ? a.greatest : a.greatest + logf(a.sum);
}
__device__ __forceinline__ double weft_log_of(weft_logsum<double> a) {
  return fabs(a.greatest) == __longlong_as_double(0x7ff0000000000000ll) && a.sum == a.sum ? a.greatest : a.greatest + log(a.sum);
}

extern "C" __global__ void __launch_bounds__(256)
rows_of_layer_norm_rows(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, float c1, float c6, const float* __restrict__ b1, const float* __restrict__ b2, float* __restrict__ b3, float* __restrict__ b4) {
  const int tr = (int)threadIdx.x % 64;
  const int tp = (int)threadIdx.x / 64;
  const int p = (int)(blockIdx.x + first_x) * 4 + tp;
  const bool in = p < n0;
  const int row = in ? p : n1;
  float a2[4];
  #pragma unroll
  for (int e = 0; e < 4; ++e) {
    a2[e] = 0.0f;
  }
  weft_moments<float, float> a4[4];
  #pragma unroll
  for (int e = 0; e < 4; ++e) {
    a4[e] = weft_moments<float, float>{0.0f, 0.0f, 0.0f};
  }
  weft_pack<float, 4> l0[1];
  #pragma unroll
  for (int k = 0; k < 1; ++k) {
    const int r = (k * 64 + tr) * 4;
    if (r < n2) {
      l0[k] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (row * n2 + r));
    }
  }
  #pragma unroll
  for (int k = 0; k < 1; ++k) {
    const int r = (k * 64 + tr) * 4;
    if (r < n2) {
      float d4[4];
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        a2[e] = (a2[e] + l0[k].v[e]);
        d4[e] = l0[k].v[e];
      }
      a4[0] = weft_combine(a4[0], weft_moments_of<float, float, 4>(d4));
    }
  }
  #pragma unroll
  for (int e = 1; e < 4; ++e) {
    a2[0] = (a2[0] + a2[e]);
  }
  #pragma unroll
  for (int e = 1; e < 4; ++e) {
    a4[0] = weft_combine(a4[0], a4[e]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a2[q] = (a2[q] + weft_exchange(a2[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a4[q] = weft_combine(a4[q], weft_exchange(a4[q], lane));
    }
  }
  __shared__ float s_a2[8];
  __shared__ weft_moments<float, float> s_a4[8];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a2[(q * 2 + tr / 32) * 4 + tp] = a2[q];
    }
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a4[(q * 2 + tr / 32) * 4 + tp] = a4[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a2[q] = s_a2[(q * 2 + (int)threadIdx.x % 2) * 4 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 1; lane >= 1; lane >>= 1) {
      a2[q] = (a2[q] + weft_exchange(a2[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a4[q] = s_a4[(q * 2 + (int)threadIdx.x % 2) * 4 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 1; lane >= 1; lane >>= 1) {
      a4[q] = weft_combine(a4[q], weft_exchange(a4[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a4[q] = weft_exchange(a4[q], (int)threadIdx.x & 1);
  }
  const float v2 = a2[0];
  const float v4 = a4[0].deviations;
  const float v3 = (v2 / c1);
  const float v5 = (v4 / c1);
  const float v7 = (v5 + c6);
  const float v8 = rsqrtf(v7);
  #pragma unroll
  for (int k = 0; k < 1; ++k) {
    const int r = (k * 64 + tr) * 4;
    if (r < n2) {
      weft_pack<float, 4> l11;
      l11 = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (r));
      weft_pack<float, 4> l13;
      l13 = *reinterpret_cast<const weft_pack<float, 4>*>(b2 + (r));
      weft_pack<float, 4> o0;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v9 = (l0[k].v[e] - v3);
        const float v10 = (v9 * v8);
        const float v12 = (v10 * l11.v[e]);
        const float v14 = (v12 + l13.v[e]);
        o0.v[e] = v14;
      }
      if (in) {
        *reinterpret_cast<weft_pack<float, 4>*>(b3 + (row * n2 + r)) = o0;
      }
    }
  }
  if (tr % 32 == 0) {
  }
  __syncthreads();
  if (tr == 0 && in) {
    b4[row] = v3;
  }
}
