/** Scans of rows and columns by asynchronous copies, on the simulated GPU, which has none: a thread copies in their place. */
import { describe, expect, it } from 'vitest';
import {
  COLUMN_SHARED_BYTES,
  COPIED_COLUMNS,
  printCopiedColumns,
} from '../../src/codegen/cuda/routines/scan-copied-columns.js';
import { printCopiedRows, rowThreads } from '../../src/codegen/cuda/routines/scan-rows.js';
import { kernel, type Lazy, lazy } from '../../src/index.js';
import { setDevices } from './simulator.js';

setDevices([{}]);

const COPIES = `#define weft_barrier_begin(barrier, count)
#define weft_barrier_expect(barrier, bytes)
#define weft_barrier_wait(barrier, parity)
#define weft_show_copies()
#define weft_bulk_read()
__device__ void weft_bulk_load(unsigned long long to, const void* from, unsigned int bytes, unsigned int barrier) {
  for (unsigned int k = 0; k < bytes / 4; ++k) ((unsigned int*)to)[k] = ((const unsigned int*)from)[k];
}
__device__ void weft_bulk_store(void* to, unsigned long long from, unsigned int bytes) { weft_bulk_load((unsigned long long)to, (const void*)from, bytes, 0); }
__device__ void weft_copy_row_part(unsigned long long to, const void* from, bool is_there) {
  if (is_there) weft_bulk_load(to, from, 16, 0);
  else for (int k = 0; k < 4; ++k) ((unsigned int*)to)[k] = 0;
}
#define weft_end_group()
template <int count> __device__ void weft_wait_groups() {}
`;

/** The kernel behind the prelude, whose pieces are in PTX. */
const simulated = (source: string): string =>
  COPIES +
  source
    .slice(source.search(/typedef|struct __align__/))
    .replaceAll('(unsigned int)__cvta_generic_to_shared', '(unsigned long long)');

/** The same of an array that begins an element later, so that it does not begin at 16 bytes. */
const shifted = (source: string): string => source.replace(/(weft_scan\([^{]*\{)/, '$1\n  in += 1;');

/** A float of sixty binades, some of them NaN or infinite, where `specials` are wanted. */
function values(n: number, specials: boolean): Float32Array {
  let seed = 20_261_127;
  const next = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  return Float32Array.from({ length: n }, () => {
    const value = (next() - 0.5) * 2 ** Math.floor(next() * 60 - 30);
    if (!specials || next() > 0.001) return value;
    return [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0][Math.floor(next() * 4)]!;
  });
}

const scans: Readonly<Record<string, (x: Lazy) => Lazy>> = {
  sum: (x) => x.cumulativeSum(1),
  max: (x) => x.cumulativeMax(1),
  min: (x) => x.cumulativeMin(1),
};

describe('scans of rows that are copied in bulk', () => {
  it.each([
    ['float32', 'sum', 5, 2048, 0],
    ['float32', 'sum', 3, 3000, 0],
    ['float32', 'max', 2, 8192, 0],
    ['float64', 'min', 3, 2048, 0],
    ['float64', 'sum', 2, 1026, 0],
    ['float32', 'sum', 3, 3000, 1],
  ] as const)('have the bits of tiles: %s, %s of %i rows of %i', async (dtype, op, rows, n, shift) => {
    const form = { dtype, op, reverse: false } as const;
    const source = simulated(printCopiedRows(form, n));
    const scan = kernel(shift === 0 ? source : shifted(source), {
      name: 'weft_scan',
      inputs: { x: dtype, first: { scalar: 'uint32' }, rows: { scalar: 'int64' }, n: { scalar: 'int32' } },
      outputs: { y: { dtype, shape: [rows, n] } },
      parameters: ['first', 'x', 'y', 'rows', 'n'],
      grid: rows,
      block: rowThreads(form, n),
    });
    const all = lazy(values(rows * n + shift, op !== 'sum')).astype(dtype);
    const found = await scan(all, 0, rows, n).compute();
    const wanted = await scans[op]!(all.slice([shift, null]).reshape([rows, n])).compute();
    expect(new Uint8Array(found.data.buffer)).toEqual(new Uint8Array(wanted.data.buffer));
  });
});

describe('scans of columns that are copied past registers', () => {
  it.each([
    ['float32', 'sum', 9000, 68, 1, 0],
    ['float32', 'max', 300, 132, 2, 0],
    ['float64', 'sum', 515, 70, 2, 0],
    ['int32', 'sum', 512, 128, 1, 0],
    ['float32', 'sum', 300, 68, 2, 1],
  ] as const)(
    'have the bits of other tiles: %s, %s of %i by %i',
    async (dtype, op, n, inner, lines, shift) => {
      const form = { dtype, op, reverse: false } as const;
      const tiles = Math.ceil(n / (dtype === 'float64' ? 128 : 256));
      const [states, groups] = [tiles + 2, Math.ceil(inner / COPIED_COLUMNS)];
      const int64 = { scalar: 'int64' } as const;
      const source = simulated(printCopiedColumns(form));
      const scan = kernel(shift === 0 ? source : shifted(source), {
        name: 'weft_scan',
        inputs: {
          x: dtype,
          first: { scalar: 'uint32' },
          ...{ states: int64, lines: int64, tiles: int64, n: int64, inner: int64, groups: int64 },
        },
        outputs: {
          y: { dtype, shape: [lines, n, inner] },
          state: { dtype: 'int8', shape: 256 + 8 * lines * states * groups * COPIED_COLUMNS, initial: 0 },
        },
        parameters: ['first', 'x', 'y', 'state', 'states', 'lines', 'tiles', 'n', 'inner', 'groups'],
        grid: lines * tiles * groups,
        block: 256,
        shared: COLUMN_SHARED_BYTES,
      });
      const all = lazy(values(lines * n * inner + shift, op === 'max')).astype(dtype);
      const x = all.slice([shift, null]).reshape([lines, n, inner]);
      const found = await scan(all, 0, states, lines, tiles, n, inner, groups).y.compute();
      const wanted = await scans[op]!(x).astype(dtype).compute();
      expect(new Uint8Array(found.data.buffer)).toEqual(new Uint8Array(wanted.data.buffer));
    },
  );
});
