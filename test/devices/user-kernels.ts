/**
 * Kernels of users' own on a GPU: values of those written as functions beside the CPU's, of those in CUDA C beside
 * others; and the times of a tiled matrix product and a histogram, in CUDA C and as functions. `--sources` writes the
 * CUDA C to a file, so that other libraries can run the same.
 *
 *     node dist/test/devices/user-kernels.js --device cuda --sources kernels.json
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { printUserKernel } from '../../src/codegen/cuda/routines/user-kernel.js';
import type { Expr } from '../../src/graph/expr.js';
import { type Lazy, lazy, profile } from '../../src/index.js';
import * as cuda from '../support/cuda-kernels.js';
import * as kernels from '../support/kernels.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    simulated: { type: 'boolean', default: false },
    sources: { type: 'string' },
    side: { type: 'string', default: '2048' },
    bytes: { type: 'string', default: '268435456' },
  },
});
if (values.simulated) Object.assign(process.env, (await import('../sim/environment.js')).SIM_ENVIRONMENT);
const { device } = values;

const numbers = (n: number, of: (k: number) => number): Float32Array =>
  Float32Array.from({ length: n }, (_, k) => of(k));
const matrix = (rows: number, columns: number): Lazy =>
  lazy(
    numbers(rows * columns, (k) => (k % 7) - 3),
    { shape: [rows, columns] },
  );
const cells = lazy(
  Uint8Array.from({ length: 640 * 333 }, (_, k) => ((k * 7 + (k >> 3)) % 3 === 0 ? 1 : 0)),
  { shape: [640, 333] },
);
const bytes = Uint8Array.from({ length: 100_003 }, (_, k) => (k * k) % 251);
const floats = numbers(100_003, (k) => Math.sin(k));
const re = Float64Array.from({ length: 5000 }, (_, k) => -2 + k / 2000);
const [a, b] = [matrix(300, 200), matrix(200, 100)];

/** Pairs that are to have the same values. */
const PAIRS: Readonly<Record<string, readonly [Lazy, Lazy]>> = {
  my_add: [cuda.myAdd(floats.slice(0, 1000), floats.slice(0, 1000)), lazy(floats.slice(0, 1000)).mul(2)],
  complex: [
    cuda.complexAdd(
      lazy(floats.slice(0, 25)).astype('complex64'),
      lazy(floats.slice(0, 25)).astype('complex64'),
      1,
    ),
    lazy(floats.slice(0, 25)).mul(2).astype('complex64'),
  ],
  'fx3<double>': [cuda.fx3(lazy(re), re.length), lazy(re).mul(3)],
  'scaled<double, 7>': [cuda.scaled(lazy(re), re.length), lazy(re).mul(7)],
  'product (CUDA C)': [cuda.tiledProduct(a, b, 300, 100, 200), a.matmul(b)],
  'product (function)': [kernels.tiledProduct(a, b), a.matmul(b)],
  'histogram (CUDA C)': [cuda.histogram(bytes, bytes.length), kernels.histogram(bytes)],
  'life (CUDA C)': [cuda.life(cells, 640, 333), kernels.life(cells)],
  'smooth (CUDA C)': [
    cuda.smooth(floats, floats.length),
    lazy(floats).mul(0).add(cuda.smooth(floats, floats.length)),
  ],
};
/** Kernels that have the same bits on the CPU. */
const ON_CPU: Readonly<Record<string, Lazy>> = {
  'increment (function)': kernels.increment(floats),
  'histogram (function)': kernels.histogram(bytes),
  'life (function)': kernels.life(cells),
  'escapes (function)': kernels.escapes(
    re,
    re.map((x) => x / 3),
  ),
  'sums (function)': kernels.blockSums(lazy(re)).sums,
  'largest (function)': kernels.blockSums(lazy(re)).largest,
  'forces (function)': kernels.forces(
    lazy(
      numbers(4000, (k) => Math.sin(k)),
      { shape: [1000, 4] },
    ),
  ),
};

const distance = (x: ArrayLike<number | bigint>, y: ArrayLike<number | bigint>): number => {
  let most = 0;
  for (let k = 0; k < x.length; k++) {
    const [p, q] = [Number(x[k]), Number(y[k])];
    most = Math.max(most, Math.abs(p - q) / Math.max(1, Math.abs(q)));
  }
  return most;
};
const report = (name: string, far: number): void =>
  console.log(
    `${name.padEnd(24)} ${far === 0 ? 'the same' : far < 1e-4 ? `within ${far.toExponential(1)}` : `WRONG by ${far}`}`,
  );

for (const [name, [own, wanted]] of Object.entries(PAIRS)) {
  const [x, y] = [await own.compute({ device }), await wanted.compute({ device })];
  report(name, distance(x.data, y.data));
}
for (const [name, own] of Object.entries(ON_CPU)) {
  const [x, y] = [await own.compute({ device }), await own.compute({ device: 'cpu' })];
  report(name, distance(x.data, y.data));
}

/** The shortest time of the kernel that takes longest, of several runs, in microseconds. */
async function shortest(y: Lazy): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 8; run++) {
    const { timeline } = await profile(y, { device });
    const spans = timeline.spans.filter(({ kind }) => kind === 'kernel' || kind === 'graph');
    best = Math.min(best, Math.max(...spans.map(({ begin, end }) => 1000 * (end - begin))));
  }
  return best;
}

const side = Number(values.side);
using left = await matrix(side, side).persist({ device });
using right = await matrix(side, side).persist({ device });
const count = Number(values.bytes);
const data = new Uint8Array(count);
for (let k = 0; k < count; k++) data[k] = (k * 2654435761) >>> 24;
using held = await lazy(data).persist({ device });
const timed: Readonly<Record<string, Lazy>> = {
  product: cuda.tiledProduct(left, right, side, side, side),
  product_function: kernels.productOf(16)(left, right),
  histogram: cuda.histogram(held, count),
  histogram_function: kernels.histogramOf(1056, 256)(held),
};
for (const [name, y] of Object.entries(timed))
  console.log(`${name.padEnd(24)} ${(await shortest(y)).toFixed(1)} µs`);
if (values.sources !== undefined) {
  const sources = Object.entries(timed).map(([name, { expr }]) => {
    const { kernel } = expr as Extract<Expr, { kind: 'call' }>;
    return [
      name,
      { text: printUserKernel({ ...kernel!, outputs: [] }), grid: kernel!.grid, block: kernel!.block },
    ];
  });
  writeFileSync(values.sources, JSON.stringify(Object.fromEntries(sources)));
}
