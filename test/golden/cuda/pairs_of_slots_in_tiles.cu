// outer-product: axisI 0, axisJ 1, items 6 × 6, threads 16 × 16, depth 32, fold 0, tile [2: 8, 4: 4], slots 4, slotLength 320
// pairs_of_slots_in_tiles_outer_product_partial: grid 1 × 4 × 1, block 256, arguments block.x 0x00000480 0x00000140 block.y 0x00000014 0x80000001 0x00000021 0x00000004 0x80000001 0x00000022 0x00000008 0xaaaaaaab 0x00000006 0xaaaaaaab 0x00000003 b0 0x00000018 0x00002d00 0x000001e0 0x000005a0 0x00000046 b1 0x00000010 0x00000460 0x00003480 0x00000d20 0x00000578 scratch0
// pairs_of_slots_in_tiles_outer_product_combine: grid 44 × 1 × 1, block 256, arguments block.x 0x00000578 0x00000004 scratch0 0xea0ea0eb 0x00000026 0x00000046 b2
// scratch 0: 22400 bytes

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

extern "C" __global__ void __launch_bounds__(256, 2)
pairs_of_slots_in_tiles_outer_product_partial(unsigned int first_x, int n0, int n1, unsigned int first_y, int n2, unsigned int n3, unsigned int n4, int n5, unsigned int n6, unsigned int n7, int n8, unsigned int n9, int n10, unsigned int n11, int n12, const float* __restrict__ b0, int n13, int n14, int n15, int n16, int n17, const float* __restrict__ b1, int n18, int n19, int n20, int n21, int n22, float* __restrict__ p0) {
  const int tj = (int)threadIdx.x % 16;
  const int ti = (int)threadIdx.x / 16;
  const int block = (int)(blockIdx.x + first_x);
  const int i0 = block * 96;
  const int j0 = 0 * 96;
  __shared__ weft_pack<float, 2> s0[1600];
  __shared__ weft_pack<float, 2> s1[1600];
  float a3[6][6];
  #pragma unroll
  for (int y = 0; y < 6; ++y) {
    #pragma unroll
    for (int x = 0; x < 6; ++x) {
      a3[y][x] = 0.0f;
    }
  }
  const int begin = (int)(blockIdx.y + first_y) * n1;
  const int end = begin + n1 < n0 ? begin + n1 : n0;
  weft_pack<float, 4> l0[3];
  weft_pack<float, 4> l1[3];
  #pragma unroll
  for (int t = 0; t < 3; ++t) {
    const int cell = t * 256 + (int)threadIdx.x;
    const int k = (cell % 2 + cell / 192 * 2) * 4;
    const int m = cell / 2 % 96;
    const int r = begin + k;
    if (r < end && i0 + m < n2) {
      const int z_q4 = (int)weft_divide((unsigned int)r, n3, n4);
      const int z4 = r - z_q4 * n5;
      const int z_q3 = (int)weft_divide((unsigned int)z_q4, n6, n7);
      const int z3 = z_q4 - z_q3 * n8;
      const int z_q2 = (int)weft_divide((unsigned int)z_q3, n9, n7);
      const int z2 = z_q3 - z_q2 * n10;
      const int z_q1 = (int)weft_divide((unsigned int)z_q2, n11, n4);
      const int z1 = z_q2 - z_q1 * n12;
      l0[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + ((i0 + m) * n13 + z_q1 * n14 + z1 * n15 + z2 * n5 + z3 * n16 + z4));
    }
  }
  #pragma unroll
  for (int t = 0; t < 3; ++t) {
    const int cell = t * 256 + (int)threadIdx.x;
    const int pack = cell % 2 + cell / 192 * 2;
    const int k = pack / 8 * 32 + pack % 2 * 16 + pack % 8 / 2;
    const int m = cell / 2 % 96;
    const int r = begin + k;
    if (r < end && j0 + m < n17) {
      const int z_q4 = (int)weft_divide((unsigned int)r, n3, n4);
      const int z4 = r - z_q4 * n5;
      const int z_q3 = (int)weft_divide((unsigned int)z_q4, n6, n7);
      const int z3 = z_q4 - z_q3 * n8;
      const int z_q2 = (int)weft_divide((unsigned int)z_q3, n9, n7);
      const int z2 = z_q3 - z_q2 * n10;
      const int z_q1 = (int)weft_divide((unsigned int)z_q2, n11, n4);
      const int z1 = z_q2 - z_q1 * n12;
      l1[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + ((j0 + m) * n18 + z_q1 * n8 + z1 * n19 + z2 * n20 + z3 + z4 * n21));
    }
  }
  for (int base = begin; base < end; base += 32) {
    __syncthreads();
    #pragma unroll
    for (int t = 0; t < 3; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 2 + cell / 192 * 2) * 4;
      const int m = cell / 2 % 96;
      const int r = base + k;
      if (r < end && i0 + m < n2) {
        const int z_q4 = (int)weft_divide((unsigned int)r, n3, n4);
        const int z4 = r - z_q4 * n5;
        const int z_q3 = (int)weft_divide((unsigned int)z_q4, n6, n7);
        const int z3 = z_q4 - z_q3 * n8;
        const int z_q2 = (int)weft_divide((unsigned int)z_q3, n9, n7);
        const int z2 = z_q3 - z_q2 * n10;
        const int z_q1 = (int)weft_divide((unsigned int)z_q2, n11, n4);
        const int z1 = z_q2 - z_q1 * n12;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s0[(k + e) * 50 + m / 2].v[m % 2] = l0[t].v[e];
        }
      }
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s0[(k + e) * 50 + m / 2].v[m % 2] = {};
        }
      }
    }
    #pragma unroll
    for (int t = 0; t < 3; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int pack = cell % 2 + cell / 192 * 2;
      const int k = pack / 8 * 32 + pack % 2 * 16 + pack % 8 / 2;
      const int m = cell / 2 % 96;
      const int r = base + k;
      if (r < end && j0 + m < n17) {
        const int z_q4 = (int)weft_divide((unsigned int)r, n3, n4);
        const int z4 = r - z_q4 * n5;
        const int z_q3 = (int)weft_divide((unsigned int)z_q4, n6, n7);
        const int z3 = z_q4 - z_q3 * n8;
        const int z_q2 = (int)weft_divide((unsigned int)z_q3, n9, n7);
        const int z2 = z_q3 - z_q2 * n10;
        const int z_q1 = (int)weft_divide((unsigned int)z_q2, n11, n4);
        const int z1 = z_q2 - z_q1 * n12;
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s1[(k + e * 4) * 50 + m / 2].v[m % 2] = l1[t].v[e];
        }
      }
      else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          s1[(k + e * 4) * 50 + m / 2].v[m % 2] = {};
        }
      }
    }
    __syncthreads();
    #pragma unroll
    for (int t = 0; t < 3; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int k = (cell % 2 + cell / 192 * 2) * 4;
      const int m = cell / 2 % 96;
      const int r = (base + 32) + k;
      if (r < end && i0 + m < n2) {
        const int z_q4 = (int)weft_divide((unsigned int)r, n3, n4);
        const int z4 = r - z_q4 * n5;
        const int z_q3 = (int)weft_divide((unsigned int)z_q4, n6, n7);
        const int z3 = z_q4 - z_q3 * n8;
        const int z_q2 = (int)weft_divide((unsigned int)z_q3, n9, n7);
        const int z2 = z_q3 - z_q2 * n10;
        const int z_q1 = (int)weft_divide((unsigned int)z_q2, n11, n4);
        const int z1 = z_q2 - z_q1 * n12;
        l0[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + ((i0 + m) * n13 + z_q1 * n14 + z1 * n15 + z2 * n5 + z3 * n16 + z4));
      }
    }
    #pragma unroll
    for (int t = 0; t < 3; ++t) {
      const int cell = t * 256 + (int)threadIdx.x;
      const int pack = cell % 2 + cell / 192 * 2;
      const int k = pack / 8 * 32 + pack % 2 * 16 + pack % 8 / 2;
      const int m = cell / 2 % 96;
      const int r = (base + 32) + k;
      if (r < end && j0 + m < n17) {
        const int z_q4 = (int)weft_divide((unsigned int)r, n3, n4);
        const int z4 = r - z_q4 * n5;
        const int z_q3 = (int)weft_divide((unsigned int)z_q4, n6, n7);
        const int z3 = z_q4 - z_q3 * n8;
        const int z_q2 = (int)weft_divide((unsigned int)z_q3, n9, n7);
        const int z2 = z_q3 - z_q2 * n10;
        const int z_q1 = (int)weft_divide((unsigned int)z_q2, n11, n4);
        const int z1 = z_q2 - z_q1 * n12;
        l1[t] = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + ((j0 + m) * n18 + z_q1 * n8 + z1 * n19 + z2 * n20 + z3 + z4 * n21));
      }
    }
    const int count = end - base < 32 ? (int)(end - base) : 32;
    #pragma unroll 4
    for (int k = 0; k < count; ++k) {
      weft_pack<float, 2> q0[3];
      #pragma unroll
      for (int h = 0; h < 3; ++h) {
        q0[h] = s0[k * 50 + h * 16 + ti];
      }
      weft_pack<float, 2> q1[3];
      #pragma unroll
      for (int h = 0; h < 3; ++h) {
        q1[h] = s1[k * 50 + h * 16 + tj];
      }
      #pragma unroll
      for (int y = 0; y < 6; ++y) {
        #pragma unroll
        for (int x = 0; x < 6; ++x) {
          const float v2 = (q0[y / 2].v[y % 2] * q1[x / 2].v[x % 2]);
          a3[y][x] = (a3[y][x] + v2);
        }
      }
    }
  }
  #pragma unroll
  for (int y = 0; y < 6; ++y) {
    #pragma unroll
    for (int x = 0; x < 6; ++x) {
      const int i = (i0 + y / 2 * 32 + ti * 2 + y % 2);
      const int j = (j0 + x / 2 * 32 + tj * 2 + x % 2);
      if (i < n2 && j < n17) {
        p0[(int)(blockIdx.y + first_y) * n22 + i * n17 + j] = a3[y][x];
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
pairs_of_slots_in_tiles_outer_product_combine(unsigned int first_x, int n0, int n1, float* __restrict__ p0, unsigned int n2, unsigned int n3, int n4, float* __restrict__ b2) {
  const int tp = (int)threadIdx.x % 32;
  const int tr = (int)threadIdx.x / 32;
  const int p = (int)(blockIdx.x + first_x) * 32 + tp;
  const bool in = p < n0;
  float a3[1] = {0.0f};
  #pragma unroll 4
  for (int s = tr; in && s < n1; s += 8) {
    a3[0] = (a3[0] + p0[(int)s * n0 + p]);
  }
  __shared__ float s_a3[256];
  {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a3[(q * 8 + tr) * 32 + tp] = a3[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a3[q] = s_a3[q * 256 + tp];
    #pragma unroll
    for (int w = 0; w < 7; ++w) {
      a3[q] = (a3[q] + s_a3[(q * 8 + w + 1) * 32 + tp]);
    }
  }
  if (tr == 0 && in) {
    const int x_q1 = (int)weft_divide((unsigned int)p, n2, n3);
    const int x1 = p - x_q1 * n4;
    const float v4 = sqrtf(a3[0]);
    b2[x_q1 * n4 + x1] = v4;
  }
}
