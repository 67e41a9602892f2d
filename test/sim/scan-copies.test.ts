/** Scans of rows and columns by asynchronous copies, on the simulated GPU, which has none: a thread copies in their place. */
import { describe, expect, it } from 'vitest';
import { STRIPE_COLUMNS } from '../../src/codegen/cuda/routines/scan-ring-columns.js';
import { printCopiedRows, rowThreads } from '../../src/codegen/cuda/routines/scan-rows.js';
import { columnRingKernels } from '../../src/exec/calls/scan-column-rings.js';
import { compileCuda, createProgram, run, type StepSpec } from '../../src/exec/native/native.js';
import { aligned } from '../../src/exec/plan/memory.js';
import { byteLengthOf } from '../../src/graph/dtype.js';
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
`;

/** The kernel behind the prelude, whose pieces are in PTX. */
const withoutPrelude = (source: string): string =>
  source
    .slice(source.search(/typedef/))
    .replaceAll('(unsigned int)__cvta_generic_to_shared', '(unsigned long long)');

const simulated = (source: string): string => COPIES + withoutPrelude(source);

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

/**
 * Barriers and tensor maps of rings, whose warps wait for one another without barriers of the block that the simulator knows:
 * what they share is not watched.
 */
const RING_COPIES = `#define weft_show_copies()
#define weft_bulk_read()
#define weft_bulk_written()
struct weft_tensor_map {
  unsigned long long address, bytes, sizes[5], strides[4], box[5];
};
struct weft_phases {
  unsigned short count, left;
  unsigned int phase;
};
WEFT_SIM_UNCHECKED void weft_barrier_begin(unsigned long long at, unsigned int count) {
  *(weft_phases*)at = weft_phases{(unsigned short)count, (unsigned short)count, 0};
}
WEFT_SIM_UNCHECKED void weft_barrier_arrive(unsigned long long at) {
  weft_phases& phases = *(weft_phases*)at;
  if (--phases.left > 0) return;
  phases.left = phases.count;
  ++phases.phase;
}
WEFT_SIM_UNCHECKED void weft_barrier_expect(unsigned long long at, unsigned int) { weft_barrier_arrive(at); }
WEFT_SIM_UNCHECKED void weft_barrier_wait(unsigned long long at, unsigned int parity) {
  while ((((volatile weft_phases*)at)->phase & 1) == parity) __nanosleep(20);
}
WEFT_SIM_UNCHECKED void weft_tensor_copy(const weft_tensor_map& map, unsigned long long shared, int x, int y, int z, bool stores) {
  for (unsigned int i = 0; i < map.box[1]; ++i)
    for (unsigned int k = 0; k < map.box[0]; ++k, shared += map.bytes) {
      const bool is_there = x + k < map.sizes[0] && y + i < map.sizes[1] && z < (long long)map.sizes[2];
      const unsigned long long at = map.address + (x + k) * map.bytes + (y + i) * map.strides[0] + z * map.strides[1];
      for (unsigned int w = 0; w < map.bytes; w += 4) {
        unsigned int* held = (unsigned int*)(shared + w);
        unsigned int* element = (unsigned int*)(at + w);
        if (stores && is_there) *element = *held;
        if (!stores) *held = is_there ? *element : 0;
      }
    }
}
WEFT_SIM_UNCHECKED void weft_tensor_load(unsigned long long to, const weft_tensor_map* map, int x, int y, int z, unsigned long long) {
  weft_tensor_copy(*map, to, x, y, z, false);
}
WEFT_SIM_UNCHECKED void weft_tensor_store(const weft_tensor_map* map, unsigned long long from, int x, int y, int z) {
  weft_tensor_copy(*map, from, x, y, z, true);
}
`;

const simulatedRing = (source: string): string => {
  const text = (RING_COPIES + withoutPrelude(source)).replaceAll('const __grid_constant__ ', '');
  const [signature] = /weft_scan\([^)]*\)/.exec(text)!;
  const unwatched = `static __attribute__((no_sanitize("thread"))) void ${signature};\n`;
  return text.replace(/extern "C" __global__/, `${unwatched}$&`);
};

describe('scans of columns in rings of tiles', () => {
  it.each([
    ['float32', 'sum', 8200, 36, 1, 0],
    ['float32', 'max', 300, 132, 2, 0],
    ['float64', 'sum', 259, 70, 2, 0],
    ['int32', 'sum', 512, 68, 1, 0],
    ['float32', 'sum', 300, 68, 2, 1],
  ] as const)(
    'have the bits of other tiles: %s, %s of %i by %i',
    async (dtype, op, n, inner, lines, shift) => {
      const form = { dtype, op, reverse: false } as const;
      const tile = 1024 / byteLengthOf(dtype);
      const tiles = Math.ceil(n / tile);
      const groups = Math.ceil(inner / STRIPE_COLUMNS);
      const states = tiles + Math.ceil(tiles / 32);
      const byteLength = aligned(256 + lines * groups * (8 * states * STRIPE_COLUMNS + 4));
      const scan = { form, outer: lines, length: n, inner, tile, tiles };
      const { source, launches } = columnRingKernels(scan, 0, 1, { buffer: 2, states, byteLength });
      // Blocks run one after the other, so that none comes to a stripe late: groups are read where they end.
      const [isFar, isEnd] = ['at - next >= 32', 'at % 32 == 0'];
      expect(source).toContain(isFar);
      const text = simulatedRing(source).replace(isFar, isEnd);
      const { image } = await compileCuda(shift === 0 ? text : shifted(text), ['--gpu-architecture=sm_90']);
      const size = lines * n * inner * byteLengthOf(dtype);
      const program = createProgram({
        device: 'cuda:0',
        arenaByteLength: byteLength,
        images: [{ key: `${dtype} ${op} ${shift}`, bytes: image }],
        buffers: [
          { role: 'input', byteLength: size + shift * byteLengthOf(dtype), offset: -1 },
          { role: 'output', byteLength: size, offset: -1 },
          { role: 'temporary', byteLength, offset: 0 },
        ],
        steps: [
          { kind: 'zero', buffer: 1 },
          ...launches.map(
            ({ function: name, blocks, threads, sharedByteLength = 0, args }): StepSpec => ({
              kind: 'launch',
              image: 0,
              function: name,
              grid: [blocks as number, 1, 1],
              block: [threads as number, 1, 1],
              sharedByteLength,
              args,
            }),
          ),
        ],
      });
      const all = await lazy(values(lines * n * inner + shift, op === 'max'))
        .astype(dtype)
        .compute();
      const { outputs } = await run(program, [all.data], { outputs: ['host'] });
      const x = lazy(all).slice([shift, null]).reshape([lines, n, inner]);
      const wanted = await scans[op]!(x).astype(dtype).compute();
      expect(new Uint8Array(outputs[0] as ArrayBuffer)).toEqual(new Uint8Array(wanted.data.buffer));
    },
  );
});
