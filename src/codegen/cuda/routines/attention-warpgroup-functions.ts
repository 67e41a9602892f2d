/** Device functions of attention by warpgroups: copies of rows, the two products, and exponentials between them. */
import { type AttentionForm, pitchParameter } from './attention-form.js';
import { GROUP, GROUP_ROWS, PANEL_ROW, type WarpgroupsTile } from './attention-warpgroup-tile.js';
import { printWarpgroupProduct } from './wgmma.js';

/** Copies rows of an operand to panels in shared memory by a warpgroup, those beyond the last one as zeros. */
export function copyFunction(form: AttentionForm, name: string, width: number, rows: number): string {
  const { isPlaced } = form;
  const [step, panels] = [GROUP / 8, width / 64];
  const place = `to + weft_swizzled(row, chunk) + i * ${step * PANEL_ROW} + panel * ${rows * PANEL_ROW}`;
  const source = `at + i * ${isPlaced ? `step` : step * width} + panel * 64`;
  const loop = `for (int i = 0; i < ${rows / step}; i++)
#pragma unroll
      for (int panel = 0; panel < ${panels}; panel++)`;
  return `__device__ __forceinline__ void ${name}(unsigned int to, const weft_element* __restrict__ from, int first, int count${pitchParameter(form)}) {
  const int row = (threadIdx.x & ${GROUP - 1}) >> 3, chunk = threadIdx.x & 7;
  const weft_element* const at = from + (long long)(first + row) * ${isPlaced ? 'pitch' : width} + chunk * 8;
${isPlaced ? `  const long long step = ${step} * pitch;\n` : ''}  if (first + ${rows} <= count) {
#pragma unroll
    ${loop} weft_copy_row_part(${place}, ${source}, true);
  } else {
#pragma unroll 1
    ${loop} {
        const bool is_there = first + row + i * ${step} < count;
        weft_copy_row_part(${place}, is_there ? ${source} : from, is_there);
      }
  }
  weft_end_group();
}
`;
}

export function productFunctions(
  { inner, width, dtype }: AttentionForm,
  { columns }: WarpgroupsTile,
): string {
  const product = (right: number, isRightInRows: boolean) => ({ dtype, columns: right, isRightInRows });
  const panelStep = (rows: number): string => `((i >> 2) * ${rows * PANEL_ROW} + (i & 3) * 32 >> 4)`;
  return `${printWarpgroupProduct({ ...product(columns, false), name: 'weft_add_scores', isLeftHeld: false })}${printWarpgroupProduct({ ...product(width, true), name: 'weft_add_values', isLeftHeld: true })}/* Begins the scores of a tile. */
__device__ __forceinline__ void weft_begin_scores(float (&s)[${columns / 2}], unsigned long long q, unsigned long long k) {
#pragma unroll
  for (int i = 0; i < ${inner / 16}; i++) weft_add_scores(s, q + ${panelStep(GROUP_ROWS)}, k + ${panelStep(columns)}, i > 0);
  weft_products_group();
}
/* Begins to add the exponentials' product with a tile of V. */
__device__ __forceinline__ void weft_begin_values(float (&sums)[${width / 2}], const unsigned int (&p)[${columns / 16}][4], unsigned long long v) {
#pragma unroll
  for (int i = 0; i < ${columns / 16}; i++) weft_add_values(sums, p[i], v + (i * ${16 * PANEL_ROW} >> 4), true);
  weft_products_group();
}
`;
}

/** Scores become exponentials; \`factor\`: by what sums of before are scaled. */
export const softmaxFunctions = ({ columns }: WarpgroupsTile): string => `struct weft_rows {
  float most[2], total[2], factor[2];
};
__device__ __forceinline__ void weft_exponentials(float (&s)[${columns / 2}], weft_rows& rows, float scale) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    float largest = s[2 * h], other = s[2 * h + 1];
#pragma unroll
    for (int c = 1; c < ${columns / 8}; c++) {
      largest = fmaxf(largest, s[4 * c + 2 * h]);
      other = fmaxf(other, s[4 * c + 2 * h + 1]);
    }
    largest = fmaxf(largest, other);
    largest = fmaxf(largest, weft_across(largest, 1));
    largest = fmaxf(largest, weft_across(largest, 2));
    const float next = fmaxf(rows.most[h], largest * scale);
    // A row of which nothing is there yet: no difference of infinities.
    const float base = next == -weft_infinity() ? 0.0f : next;
    rows.factor[h] = weft_power_of_two(rows.most[h] - base);
    rows.most[h] = next;
    float even = 0.0f, odd = 0.0f;
#pragma unroll
    for (int c = 0; c < ${columns / 8}; c++) {
      float &a = s[4 * c + 2 * h], &b = s[4 * c + 2 * h + 1];
      a = weft_power_of_two(fmaf(a, scale, -base));
      b = weft_power_of_two(fmaf(b, scale, -base));
      even += a;
      odd += b;
    }
    rows.total[h] = rows.total[h] * rows.factor[h] + (even + odd);
  }
}
__device__ __forceinline__ void weft_round(unsigned int (&p)[${columns / 16}][4], const float (&s)[${columns / 2}]) {
#pragma unroll
  for (int i = 0; i < ${columns / 4}; i++) p[i >> 2][i & 3] = weft_pair(s[2 * i], s[2 * i + 1], weft_element());
}
`;
