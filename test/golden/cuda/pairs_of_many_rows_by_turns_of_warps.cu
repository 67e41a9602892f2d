// outer-product: axisI 0, axisJ 1, items 8 × 4, threads 8 × 4, depth 64, fold 0, tile [], slots 1, slotLength 128
// pairs_of_many_rows_by_turns_of_warps_outer_product: grid 3 × 1 × 1, block 256, arguments block.x 0x00000064 0x00000082 b0 0x0000000b b1 b2

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

extern "C" __global__ void __launch_bounds__(256, 2)
pairs_of_many_rows_by_turns_of_warps_outer_product(unsigned int first_x, int n0, int n1, const float* __restrict__ b0, int n2, const float* __restrict__ b1, float* __restrict__ b2) {
  const int group = (int)threadIdx.x / 32;
  const int tj = (int)threadIdx.x % 4;
  const int ti = (int)threadIdx.x / 4 % 8;
  const int block = (int)(blockIdx.x + first_x);
  const int i0 = block * 64;
  const int j0 = 0 * 16;
  __shared__ weft_pack<float, 4> s0[1088];
  __shared__ weft_pack<float, 4> s1[320];
  float a4[8][4];
  #pragma unroll
  for (int y = 0; y < 8; ++y) {
    #pragma unroll
    for (int x = 0; x < 4; ++x) {
      a4[y][x] = 0.0f;
    }
  }
  weft_pack<float, 4> l0[4];
  weft_pack<float, 4> l1[1];
  #pragma unroll
  for (int t = 0; t < 4; ++t) {
    const int cell = t * 256 + (int)threadIdx.x;
    const int k = (cell % 4 + cell / 256 * 4) * 4;
    const int m = cell / 4 % 64;
    const int r = 0 + k;
    if (r < n0 && i0 + m < n1) {
      l0[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + ((i0 + m) * n0 + r));
    }
  }
  #pragma unroll
  for (int t = 0; t < 1; ++t) {
    const int cell = t * 256 + (int)threadIdx.x;
    const int k = (cell % 4 + cell / 64 * 4) * 4;
    const int m = cell / 4 % 16;
    const int r = 0 + k;
    if (r < n0 && j0 + m < n2) {
      l1[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + ((j0 + m) * n0 + r));
    }
  }
  for (int base = 0; base < n0; base += 64) {
    __syncthreads();
    #pragma unroll
    for (int t = 0; t < 4; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 4 + cell / 256 * 4) * 4;
      const int m = cell / 4 % 64;
      const int r = base + k;
      if (r < n0 && i0 + m < n1) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s0[(k + e) * 17 + m / 4].v[m % 4] = l0[t].v[e];
        }
      }
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s0[(k + e) * 17 + m / 4].v[m % 4] = {};
        }
      }
    }
    #pragma unroll
    for (int t = 0; t < 1; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 4 + cell / 64 * 4) * 4;
      const int m = cell / 4 % 16;
      const int r = base + k;
      if (r < n0 && j0 + m < n2) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s1[(k + e) * 5 + m / 4].v[m % 4] = l1[t].v[e];
        }
      }
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s1[(k + e) * 5 + m / 4].v[m % 4] = {};
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int t = 0; t < 4; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 4 + cell / 256 * 4) * 4;
      const int m = cell / 4 % 64;
      const int r = (base + 64) + k;
      if (r < n0 && i0 + m < n1) {
        l0[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + ((i0 + m) * n0 + r));
      }
    }
    #pragma unroll
    for (int t = 0; t < 1; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 4 + cell / 64 * 4) * 4;
      const int m = cell / 4 % 16;
      const int r = (base + 64) + k;
      if (r < n0 && j0 + m < n2) {
        l1[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + ((j0 + m) * n0 + r));
      }
    }
    const int count = n0 - base < 64 ? (int)(n0 - base) : 64;
    #pragma unroll 4
    for (int k = group; k < count; k += 8) {
      weft_pack<float, 4> q0[2];
      #pragma unroll
      for (int h = 0; h < 2; ++h) {
        q0[h] = s0[k * 17 + h * 8 + ti];
      }
      weft_pack<float, 4> q1[1];
      #pragma unroll
      for (int h = 0; h < 1; ++h) {
        q1[h] = s1[k * 5 + h * 4 + tj];
      }
      #pragma unroll
      for (int y = 0; y < 8; ++y) {
        #pragma unroll
        for (int x = 0; x < 4; ++x) {
          const float v2 = (q0[y / 4].v[y % 4] - q1[x / 4].v[x % 4]);
          const float v3 = (v2 * v2);
          a4[y][x] = (a4[y][x] + v3);
        }
      }
    }
  }
  __shared__ float x_a4[2048];
  float r_a4[4];
  const int lane = (int)threadIdx.x % 32;
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    __syncthreads();
    #pragma unroll
    for (int g = 0; g < 8; ++g) {
      x_a4[(group * 8 + g) * 32 + lane] = a4[(g * 4 + q) / 4][(g * 4 + q) % 4];
    }
    __syncthreads();
    r_a4[q] = x_a4[group * 32 + lane];
    for (int g = 1; g < 8; ++g) {
      r_a4[q] = (r_a4[q] + x_a4[(g * 8 + group) * 32 + lane]);
    }
  }
  const int first = group * 4;
  #pragma unroll
  for (int y = 0; y < 1; ++y) {
    const int i = (i0 + (first / 4 + y) / 4 * 32 + ti * 4 + (first / 4 + y) % 4);
    #pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int j = (j0 + (first % 4 + c) / 4 * 16 + tj * 4 + (first % 4 + c) % 4);
      if (i < n1 && j < n2) {
        weft_pack<float, 1> o0;
        #pragma unroll
        for (int e = 0; e < 1; ++e) {
          const float v5 = sqrtf(r_a4[y * 4 + c + e]);
          o0.v[0] = v5;
        }
        b2[i * n2 + j] = o0.v[0];
      }
    }
  }
}
