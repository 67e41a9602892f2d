/**
 * Sorts in vector registers (`native/cpu/sort-lanes.cpp`), by one thread and by several, give the bits of the radix
 * sorts of the baseline, which `test/conformance/sorting.test.ts` holds to the reference.
 */
import { expect, it } from 'vitest';
import type * as Native from '../../src/exec/native/native.js';
import type { RoutineSpec } from '../../src/exec/native/program-types.js';
import { byteLengthOf, type DType, dtypeCode } from '../../src/graph/dtype.js';
import { nativeWith } from '../support/native-with.js';
import { generator } from '../support/random.js';

const isX64 = process.arch === 'x64';
const why = isX64 ? '' : ' (skipped: sorts in vector registers are of x86-64)';

interface Rows {
  readonly dtype: DType;
  readonly rows: number;
  readonly length: number;
  readonly descending: boolean;
}

/** `levels`: the partitions one inside another before heap sort, where others than any row of data has by chance. */
async function ordered(
  native: typeof Native,
  call: string,
  of: Rows,
  data: Uint8Array,
  levels: readonly number[] = [],
): Promise<Uint8Array> {
  const { dtype, rows, length, descending } = of;
  const numbers = [dtypeCode(dtype), rows, length, 1, descending ? 1 : 0, 0, ...levels];
  const routine: RoutineSpec = {
    kind: 'routine',
    name: call,
    numbers,
    operands: [0],
    results: [1],
    workspace: 2,
  };
  const workspace = native.routineWorkspace(routine).most;
  const results = rows * length * (call === 'sort' ? byteLengthOf(dtype) : 8);
  const program = native.createProgram({
    device: 'cpu',
    arenaByteLength: workspace,
    images: [],
    buffers: [
      { role: 'input', byteLength: data.byteLength, offset: -1 },
      { role: 'output', byteLength: results, offset: -1 },
      { role: 'temporary', byteLength: workspace, offset: 0 },
    ],
    steps: [routine],
  });
  const { outputs } = await native.run(program, [data], { outputs: ['host'] });
  return new Uint8Array(outputs[0] as ArrayBuffer);
}

/** Bits of a row of elements: of few values, of any with NaN and infinities, in order, backwards, or all the same. */
function rowBits(dtype: DType, kind: number, length: number, random: () => number): bigint[] {
  const bits = 8 * byteLengthOf(dtype);
  const isFloat = dtype.startsWith('float');
  const infinity = bits === 32 ? 0x7f800000n : 0x7ff0000000000000n;
  const specials = isFloat
    ? [0n, 1n << BigInt(bits - 1), infinity, infinity + 1n, infinity + (1n << BigInt(bits - 1)), 1n]
    : [0n, 1n << BigInt(bits - 1), (1n << BigInt(bits)) - 1n, (1n << BigInt(bits - 1)) - 1n, 1n];
  const any = (): bigint => {
    const [high, low] = [BigInt(Math.floor(random() * 2 ** 32)), BigInt(Math.floor(random() * 2 ** 32))];
    return bits === 32 ? low : (high << 32n) | low;
  };
  return Array.from({ length }, (_, k) => {
    if (kind === 0) return any();
    if (kind === 1) return specials[Math.floor(random() * specials.length)]!;
    if (kind === 2) return BigInt(k);
    return kind === 3 ? BigInt(length - k) : specials[specials.length - 1]!;
  });
}

const KINDS = 5;

function dataOf({ dtype, rows, length }: Rows, seed: number): Uint8Array {
  const random = generator(seed);
  const all = Array.from({ length: rows }, (_, row) =>
    rowBits(dtype, (row + seed) % KINDS, length, random),
  ).flat();
  const is32 = byteLengthOf(dtype) === 4;
  return new Uint8Array((is32 ? Uint32Array.from(all, Number) : BigUint64Array.from(all)).buffer);
}

/** Lengths about those of registers and of networks, and rows that several threads sort. */
const SHAPES = [1, 2, 15, 17, 64, 129, 255, 257, 600, 3000].map((length) => [KINDS, length] as const);
const LONG = [...Array.from({ length: KINDS }, () => [1, 40_001] as const)];

it.runIf(isX64).each(['float32', 'int32', 'uint32', 'float64', 'int64', 'uint64'] as const)(
  `sorts of %s in vector registers give the bits of radix sorts${why}`,
  async (dtype) => {
    const baseline = await nativeWith({ WEFT_ISA: 'baseline', WEFT_THREADS: '3' });
    const cases = [...SHAPES, ...LONG].flatMap(([rows, length], k) =>
      ['sort', 'argsort'].map((call) => {
        const of: Rows = { dtype, rows, length, descending: (k + (call === 'sort' ? 1 : 0)) % 2 === 0 };
        return { call, of, data: dataOf(of, k) };
      }),
    );
    const expected: Uint8Array[] = [];
    for (const { call, of, data } of cases) expected.push(await ordered(baseline, call, of, data));
    for (const isa of ['avx2', 'avx512']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '3' });
      for (const [k, { call, of, data }] of cases.entries()) {
        const found = await ordered(native, call, of, data);
        expect(Buffer.compare(found, expected[k]!), `${call} of ${of.rows} × ${of.length} on ${isa}`).toBe(0);
      }
    }
  },
);

it.runIf(isX64).each(['avx2', 'avx512'] as const)(
  `sorts whose pivots were bad again and again end in heap sorts, which give the same bits, on %s${why}`,
  async (isa) => {
    const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '3' });
    for (const dtype of ['float32', 'int64'] as const)
      for (const [call, length] of [
        ['sort', 600],
        ['sort', 40_001],
        ['argsort', 3000],
      ] as const) {
        const of: Rows = { dtype, rows: KINDS, length, descending: call === 'argsort' };
        const data = dataOf(of, 7);
        const expected = await ordered(native, call, of, data);
        for (const levels of [1, 3])
          expect(Buffer.compare(await ordered(native, call, of, data, [levels]), expected)).toBe(0);
      }
  },
);
