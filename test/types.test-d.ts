/** Types of the public API: checked by tsc, never run. A line that must not compile is marked, so that tsc fails if it does. */
import {
  compile,
  compute,
  exp,
  iterate,
  type Lazy,
  lazy,
  type NDArray,
  where,
  whileLoop,
} from '../src/index.js';

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

// Arrays of any form for arrays, other arguments as they are; results in the form of what the function gives.
const dot = compile((a: Lazy, b: Lazy) => a.mul(b).sum());
const dotted: Promise<NDArray> = dot(new Float32Array(4), x);
const kept: Promise<Lazy> = dot.persist([1, 2], { data: [1, 2], shape: [2] });
const untyped = compile((a, b) => a.add(b));
const statistics = compile((a: Lazy, axis: number) => ({ mean: a.mean(axis), sizes: a.sum(axis) }));
const means: Promise<{ mean: NDArray; sizes: NDArray }> = statistics(x, 0);
const bounds: Promise<[NDArray, NDArray]> = compile((a: Lazy) => [a.min(), a.max()] as const)(x);
void [dotted, kept, means, bounds, untyped(x, x)];

// @ts-expect-error an argument is missing
dot(x);
// @ts-expect-error a number is no array
dot(x, 1);
// @ts-expect-error an array is no axis
statistics(x, x);
// @ts-expect-error it has to give arrays
compile((a: Lazy) => a.shape[0]!);
// @ts-expect-error compiled functions await nothing
compile(async (a: Lazy) => a);
// @ts-expect-error there is no such option
compile((a: Lazy) => a, { signal: null });

// Loops: states in the form in which they are given.
const stepped: Lazy = iterate(3, x, (y, step) => y.add(step));
const [first, second]: [Lazy, Lazy] = iterate(3, [x, 1], ([a, b]) => [b, a.add(b)]);
const named: { x: Lazy; v: Lazy } = iterate(3, { x, v: [1, 2] }, (s) => ({ x: s.x.add(s.v), v: s.v }), {
  every: 2,
});
const found: Lazy = whileLoop(
  (y) => y.less(3),
  (y) => y.add(1),
  1,
  { max: 5 },
);
void [stepped, first, second, named, found];
// @ts-expect-error a state is missing
iterate(3, [x, 1], ([a]) => [a]);
// @ts-expect-error there is no such state
iterate(3, { x }, (s) => ({ x: s.y }));
// @ts-expect-error there is no such option
iterate(3, x, (y) => y, { each: 2 });
