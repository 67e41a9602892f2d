// reduce: mapping rows, threadsP 8, threadsR 32, width 4, itemsP 1, unrollR 1, slotLength 128, slots 1, staged false
// reduce_rows_by_argmin_of_float32_reduce: grid 5 × 1 × 1, block 256, arguments block.x 0x00000025 0x00000024 0x00000064 b0 b1

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

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
reduce_rows_by_argmin_of_float32_reduce(unsigned int first_x, int n0, int n1, int n2, const float* __restrict__ b0, long long* __restrict__ b1) {
  const int tr = (int)threadIdx.x % 32;
  const int tp = (int)threadIdx.x / 32;
  bool in[1];
  int x0[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 8 + (g * 8 + tp);
    in[g] = p < n0;
    const int q = in[g] ? p : n1;
    x0[g] = q;
  }
  weft_best<float, int> a2[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a2[q] = weft_best<float, int>{__int_as_float(0x7f800000), 2147483647};
  }
  const int begin = 0;
  const int end = n2;
  int r = begin + (int)tr * 4;
  weft_pack<float, 4> l0[1][1];
  #pragma unroll
  for (int u = 0; u < 1; ++u) {
    const int s = r + u * 128;
    if (s + 4 <= end) {
      #pragma unroll
      for (int g = 0; g < 1; ++g) {
        l0[u][g] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (x0[g] * n2 + s));
      }
    }
  }
  #pragma unroll
  for (int u = 0; u < 1; ++u) {
    const int s = r + u * 128;
    if (s + 4 <= end) {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        const long long v1 = (long long)(unsigned int)((s + e));
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          a2[g * 4 + e] = weft_first_least(a2[g * 4 + e], weft_best<float, int>{l0[u][g].v[e], (int)v1});
        }
      }
    }
  }
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    #pragma unroll
    for (int e = 1; e < 4; ++e) {
      a2[g * 4] = weft_first_least(a2[g * 4], a2[g * 4 + e]);
    }
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a2[q] = weft_first_least(a2[q], weft_exchange(a2[q], lane));
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        b1[x0[g]] = (long long)a2[g].index;
      }
    }
  }
}
