/**
 * Heat spreads through a plate with cold edges: a loop that stays on the device, a picture of it now and
 * then, and the last one compared with a plain loop.
 *
 * Run it with `node dist/examples/diffusion.js [--device cpu|cuda] [--size 512] [--steps 6000] [--frames 6]
 * [--out folder]`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { arange, iterate, type Lazy, where } from '../src/index.js';
import { heat, writePng } from './png.js';
import { heading, maxDifference, milliseconds, printKernels, timed } from './support.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string' },
    size: { type: 'string', default: '512' },
    steps: { type: 'string', default: '6000' },
    frames: { type: 'string', default: '6' },
    out: { type: 'string', default: 'diffusion' },
  },
});
const [n, steps, frames] = [Number(values.size), Number(values.steps), Number(values.frames)];
const options = { device: values.device };

/** Rings and a bar at 1, the rest at 0. */
function plate(): Lazy {
  const line = arange(n, undefined, undefined, { dtype: 'float32' }).div(n);
  const [y, x] = [line.expandDims(1), line];
  const ring = (cy: number, cx: number, radius: number): Lazy =>
    y.sub(cy).square().add(x.sub(cx).square()).sqrt().sub(radius).abs().less(0.025);
  const bar = y.sub(0.82).abs().less(0.03).logicalAnd(x.sub(0.5).abs().less(0.32));
  const hot = ring(0.4, 0.34, 0.2)
    .logicalOr(ring(0.36, 0.68, 0.14))
    .logicalOr(bar);
  return where(hot, 1, 0).astype('float32');
}

/** A step: a quarter of what the four neighbours have more, cold around. */
function spread(f: Lazy): Lazy {
  const p = f.pad(1);
  const vertical = p.slice([null, -2], [1, -1]).add(p.slice([2, null], [1, -1]));
  const horizontal = p.slice([1, -1], [null, -2]).add(p.slice([1, -1], [2, null]));
  return f.add(vertical.add(horizontal).sub(f.mul(4)).mul(0.2));
}

const every = Math.floor(steps / frames);
const states = iterate(every * frames, plate(), spread, { every });

heading(`${every * frames} steps on ${n} by ${n}: ${states}`);
printKernels(states.explain(options));
const { value: pictures, ms } = await timed(() => states.compute(options));
console.log(`  computed in ${milliseconds(ms)}, ${((1000 * ms) / (every * frames)).toFixed(1)} µs a step`);

mkdirSync(values.out, { recursive: true });
const data = pictures.data as Float32Array;
const draw = (name: string, frame: number): void => {
  const field = data.subarray(frame * n * n, (frame + 1) * n * n);
  const most = field.reduce((a, b) => Math.max(a, b), 0);
  // Square roots, so that what is nearly cold is seen.
  writePng(join(values.out, name), n, n, (row, column) => heat(Math.sqrt(field[row * n + column]! / most)));
};
for (let frame = 0; frame < frames; frame++) draw(`frame-${frame + 1}.png`, frame);
draw('diffusion.png', frames - 1);
console.log(`  ${frames} frames and diffusion.png are in ${values.out}`);

/** The last state, by a loop over arrays. */
async function byLoop(): Promise<Float32Array> {
  let f = (await plate().compute({ device: 'cpu' })).data as Float32Array;
  let next = new Float32Array(n * n);
  for (let step = 0; step < every * frames; step++) {
    for (let row = 0, k = 0; row < n; row++) {
      for (let column = 0; column < n; column++, k++) {
        const around =
          (row > 0 ? f[k - n]! : 0) +
          (row < n - 1 ? f[k + n]! : 0) +
          (column > 0 ? f[k - 1]! : 0) +
          (column < n - 1 ? f[k + 1]! : 0);
        next[k] = f[k]! + 0.2 * (around - 4 * f[k]!);
      }
    }
    [f, next] = [next as Float32Array<ArrayBuffer>, f as Float32Array<ArrayBuffer>];
  }
  return f;
}
const plain = await timed(byLoop);
const difference = maxDifference(data.subarray((frames - 1) * n * n), plain.value);
console.log(
  `  plain loop ${milliseconds(plain.ms)}; max difference ${difference.toExponential(1)}, allowed 0.0001`,
);
if (!(difference <= 1e-4)) throw new Error(`differs from the plain loop by ${difference}`);
