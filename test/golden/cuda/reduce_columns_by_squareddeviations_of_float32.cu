// reduce: mapping columns, threadsP 32, threadsR 32, width 1, itemsP 1, unrollR 8, slotLength 1024, slots 1, staged false
// reduce_columns_by_squareddeviations_of_float32_reduce: grid 2 × 1 × 1, block 1024, arguments block.x 0x00000034 0x00000033 0x000003e8 b0 b1

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

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

extern "C" __global__ void __launch_bounds__(1024)
reduce_columns_by_squareddeviations_of_float32_reduce(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, float* __restrict__ b1) {
  const int tp = (int)threadIdx.x % 32;
  const int tr = (int)threadIdx.x / 32;
  bool in[1];
  int x0[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 32 + (g * 32 + tp);
    in[g] = p < n0;
    const int q = in[g] ? p : n1;
    x0[g] = q;
  }
  weft_moments<float, float> a1[1];
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = weft_moments<float, float>{0.0f, 0.0f, 0.0f};
  }
  const int begin = 0;
  const int end = n2;
  int r = begin + (int)tr;
  for (; r + 225 <= end; r += 256) {
    weft_pack<float, 1> l0[8][1];
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int s = r + u * 32;
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        l0[u][g].v[0] = b0[x0[g] + s * n0];
      }
    }
    float d1[1][8];
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int s = r + u * 32;
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        #pragma unroll
        for (int e = 0; e < 1; ++e) {
          d1[g * 1 + e][u] = l0[u][g].v[0];
        }
      }
    }
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      a1[q] = weft_combine(a1[q], weft_moments_of<float, float, 8>(d1[q]));
    }
  }
  if (r < end) {
    weft_pack<float, 1> l0[8][1];
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int s = r + u * 32;
      if (s < end) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          l0[u][g].v[0] = b0[x0[g] + s * n0];
        }
      }
    }
    #pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int s = r + u * 32;
      if (s < end) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          #pragma unroll
          for (int e = 0; e < 1; ++e) {
            a1[g * 1 + e] = weft_combine(a1[g * 1 + e], weft_moments<float, float>{1.0f, l0[u][g].v[0], weft_undefined_of(l0[u][g].v[0])});
          }
        }
      }
    }
  }
  __shared__ weft_moments<float, float> s_a1[1024];
  {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 32 + tr) * 32 + tp] = a1[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[q * 1024 + tp];
    #pragma unroll
    for (int w = 0; w < 31; ++w) {
      a1[q] = weft_combine(a1[q], s_a1[(q * 32 + w + 1) * 32 + tp]);
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        b1[x0[g]] = a1[g].deviations;
      }
    }
  }
}
