/**
 * Prelude pieces for tensor cores: products of 16 × 16 and 16 × 8 halves by a warp, the loads of their operands, and
 * copies from device to shared memory that threads do not wait for. Lanes have the elements that PTX documents for
 * `mma.m16n8k16`: with g = lane / 4 and t = lane % 4, of a (rows g, g + 8) × (columns 2t, 2t + 1, then 8 more), of b
 * (rows 2t, 2t + 1, then 8 more) × (column g), of c (rows g, g + 8) × (columns 2t, 2t + 1).
 *
 * Devices before sm_80 exchange elements by shuffles, and so does the simulated NVRTC, which reads the second part of
 * such a piece.
 */
import { type Piece, piece } from './prelude-piece.js';

/** The two texts of a piece's functions: with instructions of sm_80, and without. */
const either = (instructions: string, without: string): string => `
#if __CUDA_ARCH__ >= 800
${instructions.trim()}
#else
${without.trim()}
#endif`;

const multiply = (element: string, type: string): string =>
  either(
    `
/* c + a b, where c is summed in float32. */
__device__ __forceinline__ void weft_multiply_add(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1, ${element}) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.${type}.${type}.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}`,
    `
__device__ __forceinline__ void weft_multiply_add(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1, ${element}) {
  const unsigned int g = (threadIdx.x & 31) >> 2, t = threadIdx.x & 3;
  for (unsigned int k = 0; k < 4; k++) {
    const unsigned long long low = __shfl_sync(0xffffffffu, (unsigned long long)a[1] << 32 | a[0], (int)(4 * g + k));
    const unsigned long long high = __shfl_sync(0xffffffffu, (unsigned long long)a[3] << 32 | a[2], (int)(4 * g + k));
    for (unsigned int column = 0; column < 2; column++) {
      const unsigned long long b = __shfl_sync(0xffffffffu, (unsigned long long)b1 << 32 | b0, (int)(4 * (2 * t + column) + k));
      for (unsigned int row = 0; row < 2; row++)
        for (unsigned int part = 0; part < 4; part++) {
          const unsigned long long factors = part < 2 ? low : high;
          const ${element} x = {(unsigned short)(factors >> (32 * row + 16 * (part & 1)))}, y = {(unsigned short)(b >> (16 * part))};
          c[2 * row + column] += weft_to_float(x) * weft_to_float(y);
        }
    }
  }
}`,
  );

/** \`t\`: whether the matrices are transposed. */
const loads = (name: string, suffix: string, without: string): Piece =>
  piece(
    either(
      `
/* Four matrices of 8 × 8 halves: lanes 8j ... 8j + 7 say where the rows of matrix j are. */
__device__ __forceinline__ void ${name}(unsigned int (&r)[4], const weft_chunk* row) {
  const unsigned int at = (unsigned int)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4${suffix}.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}`,
      `
__device__ __forceinline__ void ${name}(unsigned int (&r)[4], const weft_chunk* row) {
  const unsigned int g = (threadIdx.x & 31) >> 2, t = threadIdx.x & 3;
  for (unsigned int j = 0; j < 4; j++) {
${without.trimEnd().slice(1)}
  }
}`,
    ),
  );

export const TENSOR_PIECES: readonly Piece[] = [
  piece(`
struct __align__(16) weft_chunk {
  unsigned int v[4];
};`),
  piece(multiply('weft_half', 'f16') + multiply('weft_bfloat', 'bf16')),
  loads(
    'weft_load_matrices',
    '',
    `
    const unsigned long long at = __shfl_sync(0xffffffffu, (unsigned long long)row, (int)(8 * j + g));
    r[j] = ((const weft_chunk*)at)->v[t];`,
  ),
  loads(
    'weft_load_transposed',
    '.trans',
    `
    const unsigned long long first = __shfl_sync(0xffffffffu, (unsigned long long)row, (int)(8 * j + 2 * t));
    const unsigned long long second = __shfl_sync(0xffffffffu, (unsigned long long)row, (int)(8 * j + 2 * t + 1));
    r[j] = ((const unsigned short*)first)[g] | (unsigned int)((const unsigned short*)second)[g] << 16;`,
  ),
  piece(
    either(
      `
/* Two numbers rounded to halves, the first one in the low half. */
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_half) {
  unsigned int r;
  asm volatile("cvt.rn.f16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_bfloat) {
  unsigned int r;
  asm volatile("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(r) : "f"(a), "f"(b));
  return r;
}`,
      `
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_half) {
  return weft_to_half(a).bits | (unsigned int)weft_to_half(b).bits << 16;
}
__device__ __forceinline__ unsigned int weft_pair(float a, float b, weft_bfloat) {
  return weft_to_bfloat(a).bits | (unsigned int)weft_to_bfloat(b).bits << 16;
}`,
    ),
  ),
  piece(
    either(
      `
/* Copies a chunk to shared memory, or zeros; it is there once a wait is over. */
__device__ __forceinline__ void weft_copy_chunk(weft_chunk* to, const void* from, bool is_there) {
  const unsigned int at = (unsigned int)__cvta_generic_to_shared(to), bytes = is_there ? 16u : 0u;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(at), "l"(from), "r"(bytes) : "memory");
}
/* Waits for all copies of this thread. */
__device__ __forceinline__ void weft_wait_copies() {
  asm volatile("cp.async.wait_all;" : : : "memory");
}`,
      `
__device__ __forceinline__ void weft_copy_chunk(weft_chunk* to, const void* from, bool is_there) {
  if (is_there)
    *to = *(const weft_chunk*)from;
  else
    *to = weft_chunk{};
}
__device__ __forceinline__ void weft_wait_copies() {}`,
    ),
  ),
  piece(
    either(
      `
/* Copies a number to shared memory, or zero; it is there once a wait is over. */
__device__ __forceinline__ void weft_copy_number(float* to, const float* from, bool is_there) {
  const unsigned int at = (unsigned int)__cvta_generic_to_shared(to), bytes = is_there ? 4u : 0u;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(at), "l"(from), "r"(bytes) : "memory");
}`,
      `
__device__ __forceinline__ void weft_copy_number(float* to, const float* from, bool is_there) {
  *to = is_there ? *from : 0.0f;
}`,
    ),
  ),
  piece(`
/* The value of a lane. */
__device__ __forceinline__ float weft_of_lane(float a, int lane) {
  return __int_as_float((int)__shfl_sync(0xffffffffu, (unsigned int)__float_as_int(a), lane));
}`),
  piece(`
/* The value of the lane whose number differs in a bit. */
__device__ __forceinline__ float weft_across(float a, int apart) {
  return __int_as_float((int)__shfl_xor_sync(0xffffffffu, (unsigned int)__float_as_int(a), apart));
}`),
  piece(`
/* 2 to the power of a, 0 below the normal numbers; its last bits are the device's own. */
__device__ __forceinline__ float weft_power_of_two(float a) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
}`),
];
