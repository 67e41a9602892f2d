/**
 * exp(a·sin(x) + cos(y)) over four million points: five operations, one kernel, each array read once.
 *
 * Run it with `node dist/examples/elementwise.js [--device cpu|cuda]`.
 */
import { lazy } from '../src/index.js';
import { compareWithLoop, uniform } from './support.js';

const n = 2 ** 22;
const a = 0.5;
const x = uniform(n, 1, -10, 10);
const y = uniform(n, 2, -10, 10);

const z = lazy(x).sin().mul(a).add(lazy(y).cos()).exp();

await compareWithLoop(
  'exp(a sin(x) + cos(y))',
  z,
  () => x.map((value, i) => Math.exp(a * Math.sin(value) + Math.cos(y[i]!))),
  1e-5,
);
