/** Types of the public API: checked by tsc, never run. A line that must not compile is marked, so that tsc fails if it does. */
import { compute, exp, type Lazy, lazy, type NDArray, where } from '../src/index.js';

const x: Lazy = lazy(new Float32Array(4)).mul(2).sum(0);
const reshaped: Lazy = x.reshape(2, -1).reshape([4]).slice([0, 2], '...', null);
const reduced: Lazy = x.mean(0, { keepdims: true }).var({ correction: 1 }).norm(Infinity, [0]);
const products: Lazy = x.matmul(x).tensordot(x, [0, 1]).where(1, x);
const free: Lazy = where(exp([1, 2]), x, 0)
  .add([[1n]])
  .clip(null, 3);
const pair: Promise<[NDArray, NDArray]> = compute([reshaped, reduced]);
const many: Promise<NDArray[]> = compute([products, free] as Lazy[]);
const one: Promise<NDArray> = x.compute({ device: 'cpu' });
void [pair, many, one];

// @ts-expect-error an operand is needed
x.add();
// @ts-expect-error text is no operand
x.add('1');
// @ts-expect-error there is no such option
x.sum(0, { keepDims: true });
// @ts-expect-error only sum and prod take a dtype
x.max({ dtype: 'float32' });
// @ts-expect-error there is no such dtype
x.astype('float');
// @ts-expect-error a Lazy is not a promise
x.then(() => undefined);
// @ts-expect-error shapes cannot be written to
x.shape[0] = 1;
