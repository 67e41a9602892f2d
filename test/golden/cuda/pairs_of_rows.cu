// outer-product: axisI 0, axisJ 1, items 8 × 8, threads 16 × 16, depth 16, fold 0, tile [], slots 1, slotLength 48
// pairs_of_rows_outer_product: grid 2 × 1 × 1, block 256, arguments block.x 0x00000014 0x00000082 b0 0x00000048 b1 b2

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

extern "C" __global__ void __launch_bounds__(256, 2)
pairs_of_rows_outer_product(unsigned int first_x, int n0, int n1, const float* __restrict__ b0, int n2, const float* __restrict__ b1, float* __restrict__ b2) {
  const int tj = (int)threadIdx.x % 16;
  const int ti = (int)threadIdx.x / 16;
  const int block = (int)(blockIdx.x + first_x);
  const int i0 = block * 128;
  const int j0 = 0 * 128;
  __shared__ weft_pack<float, 4> s0[528];
  __shared__ weft_pack<float, 4> s1[528];
  float a4[8][8];
  #pragma unroll
  for (int y = 0; y < 8; ++y) {
    #pragma unroll
    for (int x = 0; x < 8; ++x) {
      a4[y][x] = 0.0f;
    }
  }
  for (int base = 0; base < n0; base += 16) {
    __syncthreads();
    #pragma unroll
    for (int t = 0; t < 2; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 2 + cell / 256 * 2) * 4;
      const int m = cell / 2 % 128;
      const int r = base + k;
      if (r < n0 && i0 + m < n1) {
        weft_pack<float, 4> l0;
        l0 = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + ((i0 + m) * n0 + r));
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s0[(k + e) * 33 + m / 4].v[m % 4] = l0.v[e];
        }
      }
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s0[(k + e) * 33 + m / 4].v[m % 4] = {};
        }
      }
    }
    #pragma unroll
    for (int t = 0; t < 2; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 2 + cell / 256 * 2) * 4;
      const int m = cell / 2 % 128;
      const int r = base + k;
      if (r < n0 && j0 + m < n2) {
        weft_pack<float, 4> l1;
        l1 = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + ((j0 + m) * n0 + r));
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s1[(k + e) * 33 + m / 4].v[m % 4] = l1.v[e];
        }
      }
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s1[(k + e) * 33 + m / 4].v[m % 4] = {};
        }
      }
    }
    __syncthreads();
    const int count = n0 - base < 16 ? (int)(n0 - base) : 16;
    #pragma unroll 2
    for (int k = 0; k < count; ++k) {
      weft_pack<float, 4> q0[2];
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        q0[h] = s0[k * 33 + h * 16 + ti];
      }
      weft_pack<float, 4> q1[2];
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        q1[h] = s1[k * 33 + h * 16 + tj];
      }
      #pragma unroll
      for (int y = 0; y < 8; ++y) {
        #pragma unroll
        for (int x = 0; x < 8; ++x) {
          const float v2 = (q0[y / 4].v[y % 4] - q1[x / 4].v[x % 4]);
          const float v3 = (v2 * v2);
          a4[y][x] = (a4[y][x] + v3);
        }
      }
    }
  }
  #pragma unroll
  for (int y = 0; y < 8; ++y) {
    const int i = (i0 + y / 4 * 64 + ti * 4 + y % 4);
    #pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int j = (j0 + (c * 4) / 4 * 64 + tj * 4 + (c * 4) % 4);
      if (i < n1 && j < n2) {
        weft_pack<float, 4> o0;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float v5 = sqrtf(a4[y][c * 4 + e]);
          o0.v[e] = v5;
        }
        *reinterpret_cast<weft_pack<float, 4>*>(b2 + (i * n2 + j)) = o0;
      }
    }
  }
}
