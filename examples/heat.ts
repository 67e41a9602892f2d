/**
 * Heat in a ring-shaped plate by Fourier transforms: every wave of the temperature decays by itself, so any time is one
 * transform, one product and one transform back, however far away it is. Compared with the sum over waves.
 *
 * Run it with `node dist/examples/heat.js [--device cpu|cuda] [--size 256] [--time 0.001] [--out heat.png]`.
 */
import { parseArgs } from 'node:util';
import { arange, compute, fft, type Lazy } from '../src/index.js';
import { heat, writePng } from './png.js';
import { heading, maxDifference, milliseconds, printKernels, timed } from './support.js';

const { values } = parseArgs({
  options: {
    device: { type: 'string' },
    size: { type: 'string', default: '256' },
    time: { type: 'string', default: '0.001' },
    out: { type: 'string' },
  },
});
const [n, time] = [Number(values.size), Number(values.time)];
const options = { device: values.device };

/** Two hot bars on a plate whose edges meet, of sides of length 1. */
const line = arange(n).div(n);
const near = (x: Lazy, at: number, width: number): Lazy => x.sub(at).abs().less(width);
const bars = near(line.expandDims(1), 0.3, 0.05)
  .logicalAnd(near(line, 0.5, 0.3))
  .logicalOr(near(line.expandDims(1), 0.6, 0.2).logicalAnd(near(line, 0.7, 0.04)));
const start = bars.astype('float64');

/** The wave of frequency k has the factor e^(-4π²k²t) after a time t. */
function spread(plate: Lazy, t: number): Lazy {
  const [rows, columns] = [fft.fftfreq(n, 1 / n), fft.rfftfreq(n, 1 / n)];
  const decay = rows
    .expandDims(1)
    .square()
    .add(columns.square())
    .mul(-4 * Math.PI ** 2 * t)
    .exp();
  return fft.irfft2(fft.rfft2(plate).mul(decay), { s: [n, n] });
}

const later = spread(start, time);
heading(`heat on ${n} by ${n} after ${time}`);
printKernels(later.explain(options));
const { value: results, ms } = await timed(() => compute([start, later], options));
const [plate, field] = results.map(({ data }) => data as Float64Array) as [Float64Array, Float64Array];
console.log(`  computed in ${milliseconds(ms)}`);
if (values.out !== undefined) {
  const most = field.reduce((a, b) => Math.max(a, b), 0);
  writePng(values.out, n, n, (y, x) => heat(field[y * n + x]! / most));
}

/** The kernel of heat on a line whose ends meet: the sum over its waves. */
function kernelOf(t: number): Float64Array {
  const kernel = new Float64Array(n);
  for (let x = 0; x < n; x++)
    for (let k = -Math.floor((n - 1) / 2); k <= Math.floor(n / 2); k++)
      kernel[x]! += (Math.cos((2 * Math.PI * k * x) / n) * Math.exp(-4 * Math.PI ** 2 * k * k * t)) / n;
  return kernel;
}

/** A plate convolved with the kernel along its rows, and turned: twice is both axes. */
function smoothed(from: Float64Array, kernel: Float64Array): Float64Array {
  const to = new Float64Array(n * n);
  for (let y = 0; y < n; y++)
    for (let x = 0; x < n; x++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += from[y * n + k]! * kernel[(x - k + n) % n]!;
      to[x * n + y] = sum;
    }
  return to;
}

const kernel = kernelOf(time);
const difference = maxDifference(field, smoothed(smoothed(plate, kernel), kernel));
console.log(`  largest difference from the sum over waves: ${difference.toExponential(1)}`);
if (!(difference < 1e-12)) throw new Error('the plates differ');
