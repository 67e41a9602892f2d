/**
 * Loops whose bodies are several kernels, and conditions: microseconds a step. `node dist/bench/loops.js
 * [--device cuda] [--only name,name] [--scale small] [--repeats 7] [--file out]` prints a JSON line for each;
 * `peers-loops.py` does the same work. Results of the first steps are compared with the CPU's, or a line has
 * an error in place of numbers.
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { arange, compile, iterate, type Lazy, lazy, synchronize, whileLoop } from '../src/index.js';
import { median, now, toPrecision } from './statistics.js';

interface LoopWork {
  readonly shape: string;
  readonly steps: number;
  readonly inputs: () => readonly Lazy[];
  /** The state after some steps. */
  readonly run: (steps: number, inputs: readonly Lazy[]) => Lazy;
}

/** Numbers in [0, 1) that are the same for every peer. */
const numbers = (count: number, factor = 7919): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => ((k * factor) % 1009) / 1009);

/** A step of heat through a plate that is cold around. */
function spread(f: Lazy): Lazy {
  const p = f.pad(1);
  const around = p
    .slice([null, -2], [1, -1])
    .add(p.slice([2, null], [1, -1]))
    .add(p.slice([1, -1], [null, -2]))
    .add(p.slice([1, -1], [2, null]));
  return f.add(around.sub(f.mul(4)).mul(0.1));
}

function kMeansStep(points: Lazy, centers: Lazy): Lazy {
  const distance = points.expandDims(1).sub(centers.expandDims(0)).square().sum(2);
  const [k] = centers.shape as readonly [number];
  const isIn = distance
    .argmin(1)
    .expandDims(1)
    .equal(arange(k, { dtype: 'int64' }))
    .astype('float32');
  const sums = isIn.transpose().matmul(points);
  return sums.div(isIn.sum(0).maximum(1).expandDims(1));
}

function loopWorks(small: boolean): Readonly<Record<string, LoopWork>> {
  const [plate, side, points] = small ? [128, 64, 2000] : [2000, 1024, 200_000];
  const square = (n: number): Lazy => lazy(numbers(n * n), { shape: [n, n] });
  return {
    diffusion_source: {
      shape: `${plate}x${plate} float32`,
      steps: 1000,
      inputs: () => [square(plate)],
      run: (steps, [f]) => iterate(steps, f!, (x, i) => spread(x).add(i.astype('float32').mul(1e-6))),
    },
    power_iteration: {
      shape: `${side}x${side} float32`,
      steps: 500,
      inputs: () => [
        square(side).add(square(side).transpose()),
        lazy(numbers(side, 31), { shape: [side, 1] }),
      ],
      run: (steps, [a, x]) =>
        iterate(steps, x!, (v) => {
          const y = a!.matmul(v);
          return y.div(y.square().sum().sqrt());
        }),
    },
    k_means: {
      shape: `${points}x8, 16 centers, float32`,
      steps: 100,
      inputs: () => [
        lazy(numbers(points * 8), { shape: [points, 8] }),
        lazy(numbers(16 * 8, 31), { shape: [16, 8] }),
      ],
      run: (steps, [x, c]) => iterate(steps, c!, (centers) => kMeansStep(x!, centers)),
    },
    jacobi_residual: {
      shape: `${side}x${side} float32`,
      steps: 500,
      inputs: () => [square(side)],
      run: (steps, [f]) =>
        whileLoop(
          ([, residual]) => residual.greaterEqual(0),
          ([x]) => {
            const next = spread(x);
            return [next, next.sub(x).abs().max()];
          },
          [f!, lazy(new Float32Array([1])).reshape([])],
          { max: steps },
        )[0],
    },
    scalar_while: {
      shape: '1 float32',
      steps: 1000,
      inputs: () => [lazy(new Float32Array([1]))],
      run: (steps, [x]) =>
        whileLoop(
          (y) => y.max().greater(0),
          (y) => y.mul(0.999).add(0.001),
          x!,
          { max: steps },
        ),
    },
  };
}

/** How far two results are apart, relative to the largest number. */
function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [most, scale] = [0, 0];
  for (let k = 0; k < a.length; k++) {
    most = Math.max(most, Math.abs(a[k]! - b[k]!));
    scale = Math.max(scale, Math.abs(b[k]!));
  }
  return most / scale;
}

const FEW_STEPS = 3;
const CLOSE = 1e-4;

async function measure(name: string, work: LoopWork, device: string, repeats: number): Promise<object> {
  const few = work.run(FEW_STEPS, work.inputs());
  const [found, wanted] = await Promise.all([few.compute({ device }), few.compute({ device: 'cpu' })]);
  const apart = difference(found.data as Float32Array, wanted.data as Float32Array);
  if (!(apart <= CLOSE)) return { peer: 'weft', name, error: `results are off by ${apart}` };
  const inputs = await Promise.all(work.inputs().map((x) => x.persist({ device })));
  const run = compile((...arrays: Lazy[]) => work.run(work.steps, arrays));
  const times: number[] = [];
  for (let k = 0; k < repeats + 2; k++) {
    const start = now();
    const result = await run.persist(...inputs);
    await synchronize();
    times.push(now() - start);
    result.dispose();
  }
  for (const x of inputs) x.dispose();
  const perStep = times.slice(2).map((ms) => (ms * 1e3) / work.steps);
  return {
    peer: 'weft',
    name,
    shape: work.shape,
    steps: work.steps,
    usPerStep: toPrecision(median(perStep), 4),
    least: toPrecision(Math.min(...perStep), 4),
  };
}

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    only: { type: 'string' },
    scale: { type: 'string', default: 'full' },
    repeats: { type: 'string', default: '7' },
    file: { type: 'string' },
  },
});
const only = values.only?.split(',');
for (const [name, work] of Object.entries(loopWorks(values.scale === 'small'))) {
  if (only !== undefined && !only.includes(name)) continue;
  const line = JSON.stringify(await measure(name, work, values.device, Number(values.repeats)));
  console.log(line);
  if (values.file !== undefined) appendFileSync(values.file, `${line}\n`);
}
