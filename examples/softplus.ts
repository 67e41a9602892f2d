/**
 * softplus, log(1 + exp(x)), written so that it neither overflows nor loses small values: max(0, x) +
 * log1p(exp(-|x|)).
 *
 * Run it with `node dist/examples/softplus.js [--device cpu|cuda]`.
 */
import { lazy } from '../src/index.js';
import { compareWithLoop, uniform } from './support.js';

const data = uniform(2 ** 22, 1, -50, 50);
const x = lazy(data);

const softplus = x.maximum(0).add(x.abs().neg().exp().log1p());

await compareWithLoop(
  'max(0, x) + log1p(exp(-|x|))',
  softplus,
  () => data.map((value) => Math.max(0, value) + Math.log1p(Math.exp(-Math.abs(value)))),
  1e-5,
);
