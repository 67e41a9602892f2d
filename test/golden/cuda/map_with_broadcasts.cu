// map: width 4, unroll 1, threads 128
// map_with_broadcasts_map: grid 5 × 1 × 1, block 128, arguments block.x 0x00000940 0x80000001 0x00000025 0x00000040 b0 b1 b2 b3

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

extern "C" __global__ void __launch_bounds__(128)
map_with_broadcasts_map(unsigned int first_x, int n0, unsigned int n1, unsigned int n2, int n3, const float* __restrict__ b0, const float* __restrict__ b1, const float* __restrict__ b2, float* __restrict__ b3) {
  const int first = (int)(blockIdx.x + first_x) * 512 + (int)threadIdx.x * 4;
  weft_pack<float, 4> l0;
  weft_pack<float, 4> l1;
  float l2;
  const int i = first;
  if (i < n0) {
    const int x_q1 = (int)weft_divide((unsigned int)i, n1, n2);
    const int x1 = i - x_q1 * n3;
    l0 = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (x_q1 * n3 + x1));
    l1 = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (x1));
    l2 = b2[x_q1];
    weft_pack<float, 4> o0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v3 = (l0.v[e] - l1.v[e]);
      const float v4 = (v3 * l2);
      o0.v[e] = v4;
    }
    *reinterpret_cast<weft_pack<float, 4>*>(b3 + (x_q1 * n3 + x1)) = o0;
  }
}
