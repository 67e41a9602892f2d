// map: width 4, unroll 1, threads 128
// map_of_roots_of_anything_map: grid 2 × 1 × 1, block 128, arguments block.x 0x000003e8 b0 b1 0x000ae398 0x42340000 b2 b3 b4 0x00000001 0x000003eb

/* Consecutive elements that move as one. */
template <class T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) weft_pack {
  T v[N];
};

/* Element e of an array that stays in registers, though e is not known to the compiler. */
template <class T, int N>
__device__ __forceinline__ T weft_pick(const T (&a)[N], int e) {
  T r = a[0];
#pragma unroll
  for (int k = 1; k < N; ++k) r = k == e ? a[k] : r;
  return r;
}
template <class T, int N>
__device__ __forceinline__ void weft_put(T (&a)[N], int e, T value) {
#pragma unroll
  for (int k = 0; k < N; ++k) a[k] = k == e ? value : a[k];
}

/* The correctly rounded square root where x is 2^-100 or more and finite (Newton's step on an approximation, as
   CUDA's own); NaN where x is infinite. To reciprocals is added about 1 / x: at least 2^100 where x is less, NaN where it
   is negative or NaN. Sums of products take half the time of a minimum. */
__device__ __forceinline__ float weft_near_sqrt(float x, float& reciprocals) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  const float s = x * r;
  reciprocals = fmaf(r, r, reciprocals);
  return fmaf(fmaf(-s, s, x), 0.5f * r, s);
}

extern "C" __global__ void __launch_bounds__(128)
map_of_roots_of_anything_map(unsigned int first_x, int n0, const float* __restrict__ b0, const float* __restrict__ b1, float c1, float c4, float* __restrict__ b2, float* __restrict__ b3, float* __restrict__ b4, int n1, int n2) {
  const int first = (int)(blockIdx.x + first_x) * 512 + (int)threadIdx.x * 4;
  weft_pack<float, 4> l0;
  weft_pack<float, 4> l3;
  weft_pack<float, 4> l7;
  const int i = first;
  if (i < n0) {
    l0 = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (i));
    l3 = *reinterpret_cast<const weft_pack<float, 4>*>(b1 + (i));
    l7 = *reinterpret_cast<const weft_pack<float, 4>*>(b0 + (i));
    weft_pack<float, 4> o0;
    weft_pack<float, 4> o1;
    weft_pack<float, 4> o2;
    float reciprocals = 0.0f;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float v2 = (l0.v[e] * c1);
      const float v5 = (l3.v[e] * c4);
      const float v6 = expf(v5);
      const float v8 = weft_near_sqrt(l7.v[e], reciprocals);
      const float v9 = weft_near_sqrt(v8, reciprocals);
      const float v10 = weft_near_sqrt(v9, reciprocals);
      const float v11 = weft_near_sqrt(v10, reciprocals);
      const float v12 = weft_near_sqrt(v2, reciprocals);
      const float v13 = weft_near_sqrt(v12, reciprocals);
      const float v14 = weft_near_sqrt(v13, reciprocals);
      const float v15 = weft_near_sqrt(v14, reciprocals);
      const float v16 = weft_near_sqrt(v6, reciprocals);
      const float v17 = weft_near_sqrt(v16, reciprocals);
      const float v18 = weft_near_sqrt(v17, reciprocals);
      const float v19 = weft_near_sqrt(v18, reciprocals);
      o0.v[e] = v11;
      reciprocals = fmaf(v11, 0.0f, reciprocals);
      o1.v[e] = v15;
      reciprocals = fmaf(v15, 0.0f, reciprocals);
      o2.v[e] = v19;
      reciprocals = fmaf(v19, 0.0f, reciprocals);
    }
    if (!(reciprocals < __int_as_float(0x71800000))) {
      #pragma unroll 1
      for (int e = 0; e < 4; ++e) {
        const float v2 = (weft_pick(l0.v, e) * c1);
        const float v5 = (weft_pick(l3.v, e) * c4);
        const float v6 = expf(v5);
        const float v8 = sqrtf(weft_pick(l7.v, e));
        const float v9 = sqrtf(v8);
        const float v10 = sqrtf(v9);
        const float v11 = sqrtf(v10);
        const float v12 = sqrtf(v2);
        const float v13 = sqrtf(v12);
        const float v14 = sqrtf(v13);
        const float v15 = sqrtf(v14);
        const float v16 = sqrtf(v6);
        const float v17 = sqrtf(v16);
        const float v18 = sqrtf(v17);
        const float v19 = sqrtf(v18);
        weft_put<float>(o0.v, e, v11);
        weft_put<float>(o1.v, e, v15);
        weft_put<float>(o2.v, e, v19);
      }
    }
    *reinterpret_cast<weft_pack<float, 4>*>(b2 + (i)) = o0;
    *reinterpret_cast<weft_pack<float, 4>*>(b3 + (i)) = o1;
    *reinterpret_cast<weft_pack<float, 4>*>(b4 + (i)) = o2;
  }
  const int rest = n0 + (int)threadIdx.x;
  if ((int)(blockIdx.x + first_x) == n1 && rest < n2) {
    const float v0 = b0[rest];
    const float v2 = (v0 * c1);
    const float v3 = b1[rest];
    const float v5 = (v3 * c4);
    const float v6 = expf(v5);
    const float v7 = b0[rest];
    const float v8 = sqrtf(v7);
    const float v9 = sqrtf(v8);
    const float v10 = sqrtf(v9);
    const float v11 = sqrtf(v10);
    const float v12 = sqrtf(v2);
    const float v13 = sqrtf(v12);
    const float v14 = sqrtf(v13);
    const float v15 = sqrtf(v14);
    const float v16 = sqrtf(v6);
    const float v17 = sqrtf(v16);
    const float v18 = sqrtf(v17);
    const float v19 = sqrtf(v18);
    b2[rest] = v11;
    b3[rest] = v15;
    b4[rest] = v19;
  }
}
