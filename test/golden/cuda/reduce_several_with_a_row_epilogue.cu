// reduce: mapping rows, threadsP 2, threadsR 128, width 4, itemsP 1, unrollR 1, slotLength 512, slots 1, staged false
// reduce_several_with_a_row_epilogue_reduce: grid 17 × 1 × 1, block 256, arguments block.x 0x00000021 0x00000020 b1 0x00000104 b0 b4 0x43820000 b2 b3 b5

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

/* The value that lane (lane ^ mask) holds. */
template <class T>
__device__ __forceinline__ T weft_exchange(T a, int mask) {
  union {
    T value;
    unsigned int words[(sizeof(T) + 3) / 4];
  } mine, other;
  mine.words[(sizeof(T) + 3) / 4 - 1] = 0;
  mine.value = a;
#pragma unroll
  for (int k = 0; k < (int)((sizeof(T) + 3) / 4); ++k) other.words[k] = __shfl_xor_sync(0xffffffffu, mine.words[k], mask);
  return other.value;
}

/* A value and where it stands. */
template <class T, class I>
struct weft_best {
  T value;
  I index;
};
/* Whether a comes before b among candidates for the least: NaN first, then by value, then by index. */
template <class T, class I>
__device__ __forceinline__ bool weft_precedes(T a, I i, T b, I j) {
  if (a != a) return b == b || i < j;
  return a < b || (a == b && i < j);
}
template <class T, class I>
__device__ __forceinline__ bool weft_exceeds(T a, I i, T b, I j) {
  if (a != a) return b == b || i < j;
  return a > b || (a == b && i < j);
}
template <class T, class I>
__device__ __forceinline__ weft_best<T, I> weft_first_least(weft_best<T, I> a, weft_best<T, I> b) {
  return weft_precedes(b.value, b.index, a.value, a.index) ? b : a;
}
template <class T, class I>
__device__ __forceinline__ weft_best<T, I> weft_first_greatest(weft_best<T, I> a, weft_best<T, I> b) {
  return weft_exceeds(b.value, b.index, a.value, a.index) ? b : a;
}

extern "C" __global__ void __launch_bounds__(256)
reduce_several_with_a_row_epilogue_reduce(unsigned int first_x, int n0, int n1, const float* __restrict__ b1, int n2, const float* __restrict__ b0, float* __restrict__ b4, float c2, float* __restrict__ b2, float* __restrict__ b3, long long* __restrict__ b5) {
  const int tr = (int)threadIdx.x % 128;
  const int tp = (int)threadIdx.x / 128;
  bool in[1];
  int x0[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 2 + (g * 2 + tp);
    in[g] = p < n0;
    const int q = in[g] ? p : n1;
    x0[g] = q;
  }
  float h4[1][1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 0; e < 1; ++e) {
      const float v4 = b1[x0[g]];
      h4[g][e] = v4;
    }
  }
  float a1[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a1[q] = 0.0f;
  }
  float a7[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a7[q] = -__int_as_float(0x7f800000);
  }
  weft_best<float, int> a10[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a10[q] = weft_best<float, int>{__int_as_float(0x7f800000), 2147483647};
  }
  const int begin = 0;
  const int end = n2;
  int r = begin + (int)tr * 4;
  weft_pack<float, 4> l0[1][1];
  #pragma unroll
  for (int u = 0; u < 1; ++u) {
    const int s = r + u * 512;
    if (s + 4 <= end) {
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        l0[u][g] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (x0[g] * n2 + s));
      }
    }
  }
  #pragma unroll
  for (int u = 0; u < 1; ++u) {
    const int s = r + u * 512;
    if (s + 4 <= end) {
      weft_pack<float, 4> o2[1];
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const long long v9 = (long long)(unsigned int)((s + e));
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          const float v6 = (l0[u][g].v[e] * h4[g][0]);
          const float v8 = (l0[u][g].v[e] * h4[g][0]);
          a1[g * 4 + e] = (a1[g * 4 + e] + l0[u][g].v[e]);
          a7[g * 4 + e] = weft_maximum(a7[g * 4 + e], v6);
          a10[g * 4 + e] = weft_first_least(a10[g * 4 + e], weft_best<float, int>{l0[u][g].v[e], (int)v9});
          o2[g].v[e] = v8;
        }
      }
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        if (in[g]) {
          *reinterpret_cast<weft_pack<float, 4>*>(b4 + (x0[g] * n2 + s)) = o2[g];
        }
      }
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a1[g * 4] = (a1[g * 4] + a1[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a7[g * 4] = weft_maximum(a7[g * 4], a7[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a10[g * 4] = weft_first_least(a10[g * 4], a10[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a7[q] = weft_maximum(a7[q], weft_exchange(a7[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a10[q] = weft_first_least(a10[q], weft_exchange(a10[q], lane));
    }
  }
  __shared__ float s_a1[8];
  __shared__ float s_a7[8];
  __shared__ weft_best<float, int> s_a10[8];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 4 + tr / 32) * 2 + tp] = a1[q];
    }
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a7[(q * 4 + tr / 32) * 2 + tp] = a7[q];
    }
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a10[(q * 4 + tr / 32) * 2 + tp] = a10[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[(q * 4 + (int)threadIdx.x % 4) * 2 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 2; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a7[q] = s_a7[(q * 4 + (int)threadIdx.x % 4) * 2 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 2; lane >= 1; lane >>= 1) {
      a7[q] = weft_maximum(a7[q], weft_exchange(a7[q], lane));
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a10[q] = s_a10[(q * 4 + (int)threadIdx.x % 4) * 2 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 2; lane >= 1; lane >>= 1) {
      a10[q] = weft_first_least(a10[q], weft_exchange(a10[q], lane));
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        const float v3 = (a1[g] / c2);
        const float v4 = b1[x0[g]];
        const float v5 = (v3 * v4);
        b2[x0[g]] = v5;
        b3[x0[g]] = a7[g];
        b5[x0[g]] = (long long)a10[g].index;
      }
    }
  }
}
