// map: width 4, unroll 4, threads 256
// map_of_columns_computed_once_map: grid 1 × 1 × 1, block 256, arguments block.x 0x00000940 0x80000001 0x00000025 0x00000040 b1 0x40400000 0x00000002 b0 b2 b3 b4

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

extern "C" __global__ void __launch_bounds__(256)
map_of_columns_computed_once_map(unsigned int first_x, int n0, unsigned int n1, unsigned int n2, int n3, const float* __restrict__ b1, float c2, int n4, const float* __restrict__ b0, const float* __restrict__ b2, float* __restrict__ b3, float* __restrict__ b4) {
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
      const long long v6 = (long long)(n4 + (x1 + e));
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
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float v9 = (l0[u].v[e] - l8[u]);
        const float v10 = (v9 / h5[e]);
        const float v11 = (v10 + h7[e]);
        o0.v[e] = v11;
        o1.v[e] = h12[e];
      }
      *reinterpret_cast<weft_pack<float, 4>*>(b3 + (x_q1 * n3 + x1)) = o0;
      *reinterpret_cast<weft_pack<float, 4>*>(b4 + (x_q1 * n3 + x1)) = o1;
    }
  }
}
