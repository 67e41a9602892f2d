// reduce: mapping columns, threadsP 128, threadsR 1, width 1, itemsP 2, unrollR 1, slotLength 128, slots 5, staged true
// reduce_pairs_of_points_reduce_partial: grid 2 × 5 × 1, block 128, arguments block.x 0x0000012c 0x0000012b 0x00000003 b0 0x00000001 0x00000002 block.y 0x00000080 0x00000208 b1 b2 scratch0
// reduce_pairs_of_points_reduce_combine: grid 10 × 1 × 1, block 256, arguments block.x 0x0000012c 0x00000005 scratch0 b3
// scratch 0: 6000 bytes

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

/* NaN if either is NaN; -0 is less than 0. */
template <class T>
__device__ __forceinline__ T weft_maximum(T a, T b) {
  return a > b ? a : b;
}
__device__ __forceinline__ double weft_maximum(double a, double b) {
  const long long both = __double_as_longlong(a) & __double_as_longlong(b);
  return a > b || a != a ? a : a == b ? __longlong_as_double(both) : b;
}
__device__ __forceinline__ float weft_maximum(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

/* Two raised to p; 0 where that is subnormal. */
__device__ __forceinline__ float weft_two_to(float p) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(p));
  return power;
}
/* power = 2^p, where p is x / ln 2 but for its rounding, becomes e^x: times what p leaves of x, to first order. */
__device__ __forceinline__ float weft_exp_about(float x, float p, float power) {
  return fmaf(power, fmaf(p, -0.693147180559945309417f, x), power);
}

/* e raised to x as a term of a sum, which has a fast path of fewer steps than expf: within 2.5 units in the last place while
   |x| is below 20, and within 5 farther out, where the rounding of ln 2 is seen. Powers that may be subnormal are computed 2^24 times
   as large; an x whose power is infinite gives way to one that leaves more than 0, or the end were NaN. */
__device__ __forceinline__ float weft_term_exp(float x) {
  const float c = weft_maximum(x >= 88.72283935546875f ? 88.72285461425781f : x, -110.0f);
  const float p = __fmul_rn(c, 1.44269504088896340736f);
  const bool low = p < -125.0f;
  const float y = weft_exp_about(c, p, weft_two_to(low ? p + 24.0f : p));
  return low ? __fmul_rn(y, 5.9604644775390625e-8f) : y;
}

/* The same where the size of p is at most 125; exponents becomes the largest size. */
__device__ __forceinline__ float weft_near_exp(float x, float& exponents) {
  const float p = __fmul_rn(x, 1.44269504088896340736f);
  exponents = fmaxf(exponents, fabsf(p));
  return weft_exp_about(x, p, weft_two_to(p));
}

extern "C" __global__ void __launch_bounds__(128, 6)
reduce_pairs_of_points_reduce_partial(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, int n3, int n4, unsigned int first_y, int n5, int n6, const float* __restrict__ b1, const float* __restrict__ b2, float* __restrict__ p0) {
  const int tp = (int)threadIdx.x;
  const int tr = 0;
  bool in[2];
  int x0[2];
  #pragma unroll
  for (int g = 0; g < 2; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 256 + (g * 128 + tp);
    in[g] = p < n0;
    const int q = in[g] ? p : n1;
    x0[g] = q;
  }
  float h0[2][1];
  float h3[2][1];
  float h6[2][1];
  #pragma unroll
  for (int g = 0; g < 2; ++g) {
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
  float a18[2];
  #pragma unroll
  for (int q = 0; q < 2; ++q) {
    a18[q] = 0.0f;
  }
  const int begin = (int)(blockIdx.y + first_y) * n5;
  const int end = (begin + n5 < n6 ? begin + n5 : n6);
  __shared__ weft_pack<float, 4> s0[128];
  bool ordinary = true;
  for (int base = begin; base < end; base += 128) {
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
    const int count = end - base < 128 ? (int)(end - base) : 128;
    #pragma unroll 1
    for (int first = 0; first < count; first += 32) {
      const int last = first + 32 < count ? first + 32 : count;
      if (ordinary) {
        float kept_a18[2];
        #pragma unroll
        for (int g = 0; g < 2; ++g) {
          kept_a18[g] = a18[g];
        }
        float exponents = 0.0f;
        #pragma unroll 4
        for (int j = first; j < last; ++j) {
          const weft_pack<float, 4> t_s0 = s0[j];
          #pragma unroll
          for (int g = 0; g < 2; ++g) {
            const float v2 = (h0[g][0] - t_s0.v[0]);
            const float v5 = (h3[g][0] - t_s0.v[1]);
            const float v8 = (h6[g][0] - t_s0.v[2]);
            const float v9 = (v2 * v2);
            const float v10 = (v5 * v5);
            const float v11 = (v8 * v8);
            const float v12 = (v9 + v10);
            const float v13 = (v12 + v11);
            const float v14 = (-v13);
            const float v15 = weft_near_exp(v14, exponents);
            const float v17 = (v15 * t_s0.v[3]);
            a18[g] = (a18[g] + v17);
          }
        }
        ordinary = __all_sync(0xffffffffu, exponents <= 125.0f);
        if (ordinary) continue;
        #pragma unroll
        for (int g = 0; g < 2; ++g) {
          a18[g] = kept_a18[g];
        }
      }
      #pragma unroll 4
      for (int j = first; j < last; ++j) {
        const weft_pack<float, 4> t_s0 = s0[j];
        #pragma unroll
        for (int g = 0; g < 2; ++g) {
          const float v2 = (h0[g][0] - t_s0.v[0]);
          const float v5 = (h3[g][0] - t_s0.v[1]);
          const float v8 = (h6[g][0] - t_s0.v[2]);
          const float v9 = (v2 * v2);
          const float v10 = (v5 * v5);
          const float v11 = (v8 * v8);
          const float v12 = (v9 + v10);
          const float v13 = (v12 + v11);
          const float v14 = (-v13);
          const float v15 = weft_term_exp(v14);
          const float v17 = (v15 * t_s0.v[3]);
          a18[g] = (a18[g] + v17);
        }
      }
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 2; ++g) {
      if (in[g]) {
        #pragma unroll
        for (int e = 0; e < 1; ++e) {
          const int p = (int)(blockIdx.x + first_x) * 256 + (g * 128 + tp) * 1 + e;
          p0[(int)(blockIdx.y + first_y) * n0 + p] = a18[g * 1 + e];
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
reduce_pairs_of_points_reduce_combine(unsigned int first_x, int n0, int n1, float* __restrict__ p0, float* __restrict__ b3) {
  const int tp = (int)threadIdx.x % 32;
  const int tr = (int)threadIdx.x / 32;
  const int p = (int)(blockIdx.x + first_x) * 32 + tp;
  const bool in = p < n0;
  float a18[1] = {0.0f};
  #pragma unroll 4
  for (int s = tr; in && s < n1; s += 8) {
    a18[0] = (a18[0] + p0[(int)s * n0 + p]);
  }
  __shared__ float s_a18[256];
  {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a18[(q * 8 + tr) * 32 + tp] = a18[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a18[q] = s_a18[q * 256 + tp];
    #pragma unroll
    for (int w = 0; w < 7; ++w) {
      a18[q] = (a18[q] + s_a18[(q * 8 + w + 1) * 32 + tp]);
    }
  }
  if (tr == 0 && in) {
    b3[p] = a18[0];
  }
}
