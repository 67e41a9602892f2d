// map: width 1, unroll 1, threads 128
// map_of_a_padded_load_map: grid 4 × 1 × 1, block 128, arguments block.x 0x000001e0 0xaaaaaaab 0x00000024 0x00000018 b0 0x00000013 0xffffffd7 0xfffffffe 0x0000000f 0xfffffffd 0xfffffffc 0x0000001e 0x40e00000 b1

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
map_of_a_padded_load_map(unsigned int first_x, int n0, unsigned int n1, unsigned int n2, int n3, const float* __restrict__ b0, int n4, int n5, int n6, int n7, int n8, int n9, int n10, float c2, float* __restrict__ b1) {
  const int first = (int)(blockIdx.x + first_x) * 128 + (int)threadIdx.x * 1;
  weft_pack<float, 1> l0;
  const int i = first;
  if (i < n0) {
    const int x_q1 = (int)weft_divide((unsigned int)i, n1, n2);
    const int x1 = i - x_q1 * n3;
    l0.v[0] = (unsigned int)(n6 + x_q1) < (unsigned int)n7 && (unsigned int)(n8 + x1) < (unsigned int)n4 ? b0[n5 + x_q1 * n4 + x1] : 0.0f;
    weft_pack<float, 1> o0;
    const bool v1 = (unsigned int)(n9 + x_q1 + x1) < (unsigned int)n10;
    const float v3 = (v1 ? l0.v[0] : c2);
    o0.v[0] = v3;
    b1[x_q1 * n3 + x1] = o0.v[0];
  }
}
