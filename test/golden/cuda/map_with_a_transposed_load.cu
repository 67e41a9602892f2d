// transpose: axis 0, tile 64, threads 256, staged [1]
// map_with_a_transposed_load_tiles: grid 4 × 1 × 1, block 256, arguments block.x 0x80000001 0x00000020 0x00000002 0x00000046 0x0000005a b1 b0 b2

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
map_with_a_transposed_load_tiles(unsigned int first_x, unsigned int n0, unsigned int n1, int n2, int n3, int n4, const float* __restrict__ b1, const float* __restrict__ b0, float* __restrict__ b2) {
  const int block = (int)(blockIdx.x + first_x);
  const int t_q1 = (int)weft_divide((unsigned int)block, n0, n1);
  const int t1 = block - t_q1 * n2;
  const int f0 = t_q1 * 64;
  const int f1 = t1 * 64;
  const int lane = (int)threadIdx.x % 32 * 2;
  const int row = (int)threadIdx.x / 32;
  __shared__ float s1[4160];
  weft_pack<float, 2> l1[8];
  weft_pack<float, 2> l0[8];
  #pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int i = f0 + lane;
    const int j = f1 + k * 8 + row;
    if (i < n3 && j < n4) {
      l1[k] = *reinterpret_cast<const weft_pack<float, 2>*>(b1 + (i + j * n3));
    }
  }
  #pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int i = f1 + lane;
    const int j = f0 + k * 8 + row;
    if (i < n4 && j < n3) {
      l0[k] = *reinterpret_cast<const weft_pack<float, 2>*>(b0 + (j * n4 + i));
    }
  }
  #pragma unroll
  for (int k = 0; k < 8; ++k) {
    #pragma unroll
    for (int e = 0; e < 2; ++e) {
      s1[(lane + e) * 65 + k * 8 + row] = l1[k].v[e];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int i = f1 + lane;
    const int j = f0 + k * 8 + row;
    if (i < n4 && j < n3) {
      weft_pack<float, 2> o0;
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float v2 = (l0[k].v[e] + s1[(k * 8 + row) * 65 + lane + e]);
        o0.v[e] = v2;
      }
      *reinterpret_cast<weft_pack<float, 2>*>(b2 + (j * n4 + i)) = o0;
    }
  }
}
