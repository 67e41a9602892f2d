// reduce: mapping rows, threadsP 1, threadsR 256, width 4, itemsP 1, unrollR 4, slotLength 4096, slots 10, staged false
// reduce_all_by_sum_of_float32_reduce_partial: grid 1 × 10 × 1, block 256, arguments block.x 0x00000001 block.y 0x00001000 0x00009c43 b0 0x00009c40 scratch0
// reduce_all_by_sum_of_float32_reduce_combine: grid 1 × 1 × 1, block 256, arguments block.x 0x00000001 0x0000000a scratch0 b1
// scratch 0: 40 bytes

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

extern "C" __global__ void __launch_bounds__(256)
reduce_all_by_sum_of_float32_reduce_partial(unsigned int first_x, int n0, unsigned int first_y, int n1, int n2, const float* __restrict__ b0, int n3, float* __restrict__ p0) {
  const int tr = (int)threadIdx.x;
  const int tp = 0;
  bool in[1];
  #pragma unroll
  for (int g = 0; g < 1; ++g) {
    const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp);
    in[g] = p < n0;
  }
  float a1[4];
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    a1[q] = 0.0f;
  }
  const int begin = (int)(blockIdx.y + first_y) * n1;
  const int end = (begin + n1 < n2 ? begin + n1 : n2);
  int r = begin + (int)tr * 4;
  for (; r + 3076 <= end; r += 4096) {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (s));
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        #pragma unroll
        for (int g = 0; g < 1; ++g) {
          a1[g * 4 + e] = (a1[g * 4 + e] + l0[u].v[e]);
        }
      }
    }
  }
  if (r < end) {
    weft_pack<float, 4> l0[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      if (s + 4 <= end) {
        l0[u] = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (s));
      }
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      const int s = r + u * 1024;
      if (s + 4 <= end) {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          #pragma unroll
          for (int g = 0; g < 1; ++g) {
            a1[g * 4 + e] = (a1[g * 4 + e] + l0[u].v[e]);
          }
        }
      }
    }
  }
  for (r = n3 + (int)tr; r < end; r += 256) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      const float v0 = b0[r];
      a1[g * 4] = (a1[g * 4] + v0);
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
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  __shared__ float s_a1[8];
  if (tr % 32 == 0) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 8 + tr / 32) * 1 + tp] = a1[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[(q * 8 + (int)threadIdx.x % 8) * 1 + tp];
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 4; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  if (tr == 0) {
    #pragma unroll
    for (int g = 0; g < 1; ++g) {
      if (in[g]) {
        #pragma unroll
        for (int e = 0; e < 1; ++e) {
          const int p = (int)(blockIdx.x + first_x) * 1 + (g * 1 + tp) * 1 + e;
          p0[(int)(blockIdx.y + first_y) * n0 + p] = a1[g * 1 + e];
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
reduce_all_by_sum_of_float32_reduce_combine(unsigned int first_x, int n0, int n1, float* __restrict__ p0, float* __restrict__ b1) {
  const int tp = 0;
  const int tr = (int)threadIdx.x;
  const int p = (int)(blockIdx.x + first_x) * 1 + tp;
  const bool in = p < n0;
  float a1[1] = {0.0f};
  #pragma unroll 4
  for (int s = tr; in && s < n1; s += 256) {
    a1[0] = (a1[0] + p0[(int)s * n0 + p]);
  }
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    #pragma unroll
    for (int lane = 16; lane >= 1; lane >>= 1) {
      a1[q] = (a1[q] + weft_exchange(a1[q], lane));
    }
  }
  __shared__ float s_a1[8];
  if ((int)threadIdx.x % 32 < 1) {
    #pragma unroll
    for (int q = 0; q < 1; ++q) {
      s_a1[(q * 8 + (int)threadIdx.x / 32) * 1 + tp] = a1[q];
    }
  }
  __syncthreads();
  #pragma unroll
  for (int q = 0; q < 1; ++q) {
    a1[q] = s_a1[q * 8 + tp];
    #pragma unroll
    for (int w = 0; w < 7; ++w) {
      a1[q] = (a1[q] + s_a1[(q * 8 + w + 1) * 1 + tp]);
    }
  }
  if (tr == 0 && in) {
    b1[0] = a1[0];
  }
}
