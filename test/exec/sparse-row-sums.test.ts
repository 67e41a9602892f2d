/** Sums of sparse rows on the CPU, of every length in runs and alone, bit by bit. */
import { expect, it } from 'vitest';
import { createProgram, run } from '../../src/exec/native/native.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import { generator } from '../support/random.js';
import { sparseProduct } from '../support/reference-sparse.js';

const SPECIAL = [-0, 0, Number.POSITIVE_INFINITY, Number.NaN];

it.each([
  [1, 'float64', 'int32', 50],
  [2, 'float32', 'int32', 50],
  [4, 'float64', 'int32', 50],
  [4, 'float32', 'int64', 50],
  [8, 'float64', 'int32', 50],
  [8, 'float32', 'int32', 1],
  [4, 'float64', 'int64', 1],
  [16, 'float32', 'int32', 50],
] as const)('rows by %d lanes of %s, indices of %s, %d dense rows', async (lanes, dtype, index, inner) => {
  const seed = 41 * lanes + inner;
  const next = generator(seed);
  const starts = [0];
  // Runs of rows of one length, and rows of others between them.
  while (starts.length < 500) {
    const [length, times] = [Math.floor(next() * 21), Math.floor(next() ** 2 * 8)];
    for (let k = 0; k <= times; k++) starts.push(starts.at(-1)! + length);
  }
  const [rows, stored] = [starts.length - 1, starts.at(-1)!];
  const number = (): number =>
    next() < 0.02 ? SPECIAL[Math.floor(next() * 4)]! : Math.fround((next() - 0.5) * 10 ** (6 * next()));
  const values = Array.from({ length: stored }, number);
  // Rows of zeros with signs.
  values.fill(-0, starts[200], starts[300]);
  // A tenth are wrong, and clipped.
  const places = Array.from({ length: stored }, () => Math.floor((next() * 1.1 - 0.05) * inner));
  const dense = Array.from({ length: inner }, number).map(Math.abs);
  const reals = (from: readonly number[]) =>
    dtype === 'float64' ? Float64Array.from(from) : Float32Array.from(from);
  const integers = (from: readonly number[]) =>
    index === 'int32' ? Int32Array.from(from) : BigInt64Array.from(from, BigInt);
  const operands = [reals(dense), integers(starts), integers(places), reals(values)];
  const result = rows * reals([]).BYTES_PER_ELEMENT;
  const program = createProgram({
    device: 'cpu',
    arenaByteLength: 0,
    images: [],
    buffers: [
      ...operands.map(({ byteLength }) => ({ role: 'input', byteLength, offset: -1 }) as const),
      { role: 'output', byteLength: result, offset: -1 },
      { role: 'temporary', byteLength: 0, offset: 0 },
    ],
    steps: [
      {
        kind: 'routine',
        name: 'sparseProduct',
        numbers: [dtypeCode(dtype), dtypeCode(index), rows, stored, inner, 1, lanes, 64],
        operands: [0, 1, 2, 3],
        results: [4],
        workspace: 5,
      },
    ],
  });
  const { outputs } = await run(program, operands, { outputs: ['host'] });
  const [sums] = [outputs[0] as ArrayBuffer];
  const clipped = places.map((place) => Math.max(place, 0));
  const inputs = [dense, starts, clipped, values].map((each) => ({
    dtype,
    shape: [each.length, 1],
    values: each,
  }));
  const expected = reals(sparseProduct(lanes, inputs) as readonly number[]);
  const own = dtype === 'float64' ? new Float64Array(sums) : new Float32Array(sums);
  expect([...own], `seed ${seed}`).toEqual([...expected]);
});
