// map: width 4, unroll 4, threads 256
// map_of_columns_computed_once_map: grid 1 × 1 × 1, block 256, arguments block.x 0x00000940 0x80000001 0x00000025 0x00000040 b1 0x40400000 0x00000002 b0 b2 b3 b4 b5

/* An index below 2^31 (2^63) divided by a size, as a product with a precomputed multiplier. */
__device__ __forceinline__ unsigned int weft_divide(unsigned int n, unsigned int magic, unsigned int shift) {
  return (unsigned int)(((unsigned long long)n * magic) >> shift);
}
__device__ __forceinline__ unsigned long long weft_divide(unsigned long long n, unsigned long long magic, unsigned int shift) {
  return __umul64hi(n, magic) >> (shift - 64);
}

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

/* Element e of an array that stays in registers, though e is not known to the compiler. */
template <class T, int N>
__device__ __forceinline__ T weft_pick(const T (&a)[N], int e) {
  T r = a[0];
#pragma unroll
  for (int k = 1; k < N; ++k) r = k == e ? a[k] : r;
  return r;
}
template <class T, int N>
__device__ __forceinline__ void weft_put(T (&a)[N], int e, T value) {
#pragma unroll
  for (int k = 0; k < N; ++k) a[k] = k == e ? value : a[k];
}

/* The correctly rounded square root where x is 2^-100 or more and finite (Newton's step on an approximation, as
   CUDA's own); NaN where x is infinite. To reciprocals is added about 1 / x: at least 2^100 where x is less, NaN where it
   is negative or NaN. Sums of products take half the time of a minimum. */
__device__ __forceinline__ float weft_near_sqrt(float x, float& reciprocals) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  const float s = x * r;
  reciprocals = fmaf(r, r, reciprocals);
  return fmaf(fmaf(-s, s, x), 0.5f * r, s);
}

extern "C" __global__ void __launch_bounds__(256)
map_of_columns_computed_once_map(unsigned int first_x, int n0, unsigned int n1, unsigned int n2, int n3, const float* __restrict__ b1, float c2, int n4, const float* __restrict__ b0, const float* __restrict__ b2, float* __restrict__ b3, float* __restrict__ b4, float* __restrict__ b5) {
  const int first = (int)(blockIdx.x + first_x) * 4096 + (int)threadIdx.x * 4;
  float h5[4];
  float h7[4];
  float h12[4];
  if (first < n0) {
    const int x_q1 = (int)weft_divide((unsigned int)first, n1, n2);
    const int x1 = first - x_q1 * n3;
    weft_pack<float, 4> l1;
    l1 = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (x1));
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v3 = (l1.v[e] / c2);
      const float v4 = fabsf(v3);
      const float v5 = sqrtf(v4);
      const long long v6 = (long long)(unsigned int)(n4 + (x1 + e));
      const float v7 = (float)v6;
      const float v12 = (-v5);
      h5[e] = v5;
      h7[e] = v7;
      h12[e] = v12;
    }
  }
  weft_pack<float, 4> l0[4];
  float l8[4];
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    const int i = first + u * 1024;
    if (i < n0) {
      const int x_q1 = (int)weft_divide((unsigned int)i, n1, n2);
      const int x1 = i - x_q1 * n3;
      l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (x_q1 * n3 + x1));
      l8[u] = b2[x_q1];
    }
  }
  #pragma unroll
  for (int u = 0; u < 4; ++u) {
    const int i = first + u * 1024;
    if (i < n0) {
      const int x_q1 = (int)weft_divide((unsigned int)i, n1, n2);
      const int x1 = i - x_q1 * n3;
      weft_pack<float, 4> o0;
      weft_pack<float, 4> o1;
      weft_pack<float, 4> o2;
      float reciprocals = 0.0f;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v9 = (l0[u].v[e] - l8[u]);
        const float v10 = (v9 / h5[e]);
        const float v11 = (v10 + h7[e]);
        const float v13 = weft_near_sqrt(v10, reciprocals);
        const float v14 = weft_near_sqrt(v13, reciprocals);
        const float v15 = weft_near_sqrt(v14, reciprocals);
        const float v16 = weft_near_sqrt(v15, reciprocals);
        o0.v[e] = v11;
        reciprocals = fmaf(v11, 0.0f, reciprocals);
        o1.v[e] = h12[e];
        reciprocals = fmaf(h12[e], 0.0f, reciprocals);
        o2.v[e] = v16;
        reciprocals = fmaf(v16, 0.0f, reciprocals);
      }
      if (!(reciprocals < __int_as_float(0x71800000))) {
        #pragma unroll 1
        for (int e = 0; e < 4; ++e) {
          const float v9 = (weft_pick(l0[u].v, e) - l8[u]);
          const float v10 = (v9 / weft_pick(h5, e));
          const float v11 = (v10 + weft_pick(h7, e));
          const float v13 = sqrtf(v10);
          const float v14 = sqrtf(v13);
          const float v15 = sqrtf(v14);
          const float v16 = sqrtf(v15);
          weft_put<float>(o0.v, e, v11);
          weft_put<float>(o1.v, e, weft_pick(h12, e));
          weft_put<float>(o2.v, e, v16);
        }
      }
      *reinterpret_cast<weft_pack<float, 4>*>(b3 + (x_q1 * n3 + x1)) = o0;
      *reinterpret_cast<weft_pack<float, 4>*>(b4 + (x_q1 * n3 + x1)) = o1;
      *reinterpret_cast<weft_pack<float, 4>*>(b5 + (x_q1 * n3 + x1)) = o2;
    }
  }
}
