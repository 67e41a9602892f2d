// map: width 4, unroll 1, threads 128
// map_flat_with_a_tail_map: grid 10 × 1 × 1, block 128, arguments block.x 0x00001388 b0 b1 0x3f000000 b2 0x00000009 0x0000138b

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

__device__ __attribute__((noinline)) float weft_far_sincos(float a, bool isCosine) {
  float s, c;
  sincosf(a, &s, &c);
  return isCosine ? c : s;
}

__device__ __forceinline__ float weft_sin(float a) { return fabsf(a) >= 105615.0f ? weft_far_sincos(a, false) : sinf(a); }
__device__ __forceinline__ double weft_sin(double a) { return sin(a); }

__device__ __forceinline__ float weft_cos(float a) { return fabsf(a) >= 105615.0f ? weft_far_sincos(a, true) : cosf(a); }
__device__ __forceinline__ double weft_cos(double a) { return cos(a); }

extern "C" __global__ void __launch_bounds__(128)
map_flat_with_a_tail_map(unsigned int first_x, int n0, const float* __restrict__ b0, const float* __restrict__ b1, float c2, float* __restrict__ b2, int n1, int n2) {
  const int first = (int)(blockIdx.x + first_x) * 512 + (int)threadIdx.x * 4;
  weft_pack<float, 4> l0;
  weft_pack<float, 4> l1;
  const int i = first;
  if (i < n0) {
    l0 = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (i));
    l1 = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (i));
    weft_pack<float, 4> o0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v3 = weft_sin(l0.v[e]);
      const float v4 = (c2 * v3);
      const float v5 = weft_cos(l1.v[e]);
      const float v6 = (v4 + v5);
      const float v7 = expf(v6);
      o0.v[e] = v7;
    }
    *reinterpret_cast<weft_pack<float, 4>*>(b2 + (i)) = o0;
  }
  const int rest = n0 + (int)threadIdx.x;
  if ((int)(blockIdx.x + first_x) == n1 && rest < n2) {
    const float v0 = b0[rest];
    const float v1 = b1[rest];
    const float v3 = weft_sin(v0);
    const float v4 = (c2 * v3);
    const float v5 = weft_cos(v1);
    const float v6 = (v4 + v5);
    const float v7 = expf(v6);
    b2[rest] = v7;
  }
}
