// reduce: layout columns, threadsP 256, threadsR 1, width 1, itemsP 1, unrollR 1, slotLength 1024, slots 1, staged true
// reduce_pairs_of_points_reduce: grid 2 × 1 × 1, block 256, arguments block.x 0x0000012c 0x0000012b 0x00000003 b0 0x00000001 0x00000002 0x00000208 b1 b2 b3

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

extern "C" __global__ void __launch_bounds__(256)
reduce_pairs_of_points_reduce(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, int n3, int n4, int n5, const float* __restrict__ b1, const float* __restrict__ b2, float* __restrict__ b3) {
  const int tp = (int)threadIdx.x;
  const int tr = 0;
  bool in[1];
  int x0[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 256 + (g * 256 + tp);
    in[g] = p < n0;
    const int q = in[g] ? p : n1;
    x0[g] = q;
  }
  float h0[1][1];
  float h3[1][1];
  float h6[1][1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 0; e < 1; ++e) {
      const float v0 = b0[x0[g] * n2];
      const float v3 = b0[n3 + x0[g] * n2];
      const float v6 = b0[n4 + x0[g] * n2];
      h0[g][e] = v0;
      h3[g][e] = v3;
      h6[g][e] = v6;
    }
  }
  float a18[1];
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a18[q] = 0.0f;
  }
  const int begin = 0;
  const int end = n5;
  __shared__ weft_pack<float, 4> s0[256];
  for (int base = begin; base < end; base += 256) {
    __syncthreads();
    const int r = base + (int)threadIdx.x;
    if (r < end) {
      const float v1 = b1[r * n2];
      const float v4 = b1[n3 + r * n2];
      const float v7 = b1[n4 + r * n2];
      const float v16 = b2[r];
      s0[threadIdx.x].v[0] = v1;
      s0[threadIdx.x].v[1] = v4;
      s0[threadIdx.x].v[2] = v7;
      s0[threadIdx.x].v[3] = v16;
    }
    __syncthreads();
    const int count = end - base < 256 ? (int)(end - base) : 256;
    #pragma unroll 4
    for (int j = 0; j < count; ++j) {
      const weft_pack<float, 4> t_s0 = s0[j];
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        const float v2 = (h0[g][0] - t_s0.v[0]);
        const float v5 = (h3[g][0] - t_s0.v[1]);
        const float v8 = (h6[g][0] - t_s0.v[2]);
        const float v9 = (v2 * v2);
        const float v10 = (v5 * v5);
        const float v11 = (v8 * v8);
        const float v12 = (v9 + v10);
        const float v13 = (v12 + v11);
        const float v14 = (-v13);
        const float v15 = expf(v14);
        const float v17 = (v15 * t_s0.v[3]);
        a18[g] = (a18[g] + v17);
      }
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        b3[x0[g]] = a18[g];
      }
    }
  }
}
