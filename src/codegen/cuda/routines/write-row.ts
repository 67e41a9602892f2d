/**
 * CUDA C of an array with one of its rows set. Where the result is the array's memory, as a loop's state is, only that row
 * is written; else the others are copied. Launches are made by `exec/calls/write-row.ts`.
 */
export const WRITE_ROW_NAME = 'weft_write_row';
export const WRITE_ROW_THREADS = 256;

/** Words of so many bytes: elements of 16 bytes are two. */
const WORDS = {
  1: 'unsigned char',
  2: 'unsigned short',
  4: 'unsigned int',
  8: 'unsigned long long',
} as const;
export type WordBytes = keyof typeof WORDS;

export const printWriteRow = (
  bytes: WordBytes,
): string => `extern "C" __global__ void __launch_bounds__(${WRITE_ROW_THREADS})
${WRITE_ROW_NAME}(unsigned int first_x, const ${WORDS[bytes]}* x, const long long* at, const ${WORDS[bytes]}* values,
    ${WORDS[bytes]}* y, long long outer, long long count, long long width, long long threads) {
  const long long first = ((long long)blockIdx.x + first_x) * ${WRITE_ROW_THREADS} + threadIdx.x, row = *at;
  if (x == y) {
    if (row < 0 || row >= count) return;
    for (long long i = first; i < outer * width; i += threads)
      y[(i / width * count + row) * width + i % width] = values[i];
    return;
  }
  for (long long i = first; i < outer * count * width; i += threads) {
    const long long line = i / width;
    y[i] = line % count == row ? values[line / count * width + i % width] : x[i];
  }
}
`;
