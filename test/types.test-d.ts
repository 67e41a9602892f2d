/**
 * Types of the public API: checked by tsc, never run. A line that must not compile is marked, so that tsc
 * fails if it does.
 */
import {
  type ArrayLike,
  all,
  arange,
  compile,
  compute,
  concat,
  type DType,
  type DTypeOption,
  exp,
  explain,
  full,
  iterate,
  type Lazy,
  lazy,
  linspace,
  type NDArray,
  type NestedResult,
  ones,
  persist,
  pinned,
  plan,
  profile,
  sqrt,
  subtract,
  where,
  whileLoop,
  zeros,
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

// Interfaces and nested objects as results; defaults with their types, and parameters that are arrays or
// numbers.
interface State {
  readonly x: Lazy;
  readonly v: Lazy;
}
declare const state: State;
const interfaced: Promise<{ x: NDArray; v: NDArray }> = compile((a: Lazy): State => ({ x: a, v: a }))(x);
const nested: Promise<{ now: { x: NDArray; v: NDArray }; sums: [NDArray] }> = compile((a: Lazy) => ({
  now: state,
  sums: [a.sum()] as const,
}))(x);
const withDefault = compile((a: Lazy, axis: number = 0, keepdims: boolean = false) =>
  a.sum(axis, { keepdims }),
);
const defaults: Promise<NDArray>[] = [withDefault(x), withDefault(x, 1), withDefault(x, 1, true)];
void [interfaced, nested, defaults];
// @ts-expect-error a default has a type, too
withDefault(x, '1');
// @ts-expect-error every member has to be an array
compile((a: Lazy) => ({ now: { a, n: 1 } }));
// @ts-expect-error and every element
compile((a: Lazy) => [a, 1]);
// @ts-expect-error a promise is no array
compile((a: Lazy) => ({ a: a.compute() }));

// Arrays by name, and in each other.
const byName: Promise<{ low: NDArray; high: NDArray }> = compute({ low: x.min(), high: [1, 2] });
const inEachOther: Promise<{ s: { x: NDArray; v: NDArray }; list: [NDArray, NDArray] }> = compute({
  s: state,
  list: [x, 1],
});
const stays: Promise<{ x: Lazy; v: Lazy }> = persist(state);
const profiled: Promise<{ x: NDArray }> = profile({ x }).then(({ result }) => result);
const computeAll = <const T extends readonly ArrayLike[]>(arrays: T) => compute(arrays);
void [byName, inEachOther, stays, profiled, computeAll([x]), explain(state).steps, plan({ x }).peakBytes];
// @ts-expect-error one array has a method
compute(x);
// @ts-expect-error text is no array
compute({ x: 'x' });

// Results go through their first axis; they have no methods of a Lazy.
declare const result: NDArray;
for (const part of result) void (part as number | bigint | boolean | { re: number } | NDArray);
const size: number = result.length;
void size;
// @ts-expect-error a result is no Lazy
result.add;
// @ts-expect-error elements have a method
result[0];

// dtypes: of data, casts, creation, views, results, and through ops. Both ways, so that no type is wider than
// it has to be.
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
declare function has<D extends DType>(): <X>(
  array: X & (X extends Lazy<infer E> ? (Same<D, E> extends true ? Lazy : never) : never),
) => void;
const [f16, f32, f64, i32, i64, bool] = [
  zeros([2], 'float16'),
  lazy(new Float32Array(4)),
  lazy([[1, 2]]),
  lazy(new Int32Array(4)),
  lazy([1n]),
  lazy([true, false]),
];
has<'float16'>()(f16);
has<'float32'>()(f32);
has<'float64'>()(f64);
has<'int32'>()(i32);
has<'int64'>()(i64);
has<'bool'>()(bool);
has<'uint8'>()(lazy(Buffer.from([1])));
has<'int64'>()(lazy(new BigInt64Array(1)));
has<'complex128'>()(lazy([{ re: 1, im: 2 }]));
has<'float16'>()(lazy([1, 2], { dtype: 'float16' }));
has<DType>()(lazy([1, true]));
has<DType>()(lazy([1], { dtype: x.dtype }));
has<'float32'>()(ones([2], { dtype: 'float32' }));
has<'float64'>()(zeros([2]));
has<DType>()(zeros([2], x.dtype));
has<DType>()(zeros([2], {} as DTypeOption));
has<'int64'>()(full([2], 1n));
has<'float64'>()(arange(3));
has<'int32'>()(arange(0, 3, 'int32'));
has<'float32'>()(linspace(0, 1, 5, { dtype: 'float32' }));
has<'float16'>()(f32.astype('float16'));
has<'float32'>()(f32.reshape(2, 2).T.slice([0, 1]).pad(1));
has<'float32'>()(f32.add(f32).mul(2).sub(true).sqrt().clip(0, 1).div(f32).relu());
has<'float32'>()(exp(f32).matmul(f32));
has<'float32'>()(subtract(1, f32));
has<'float32'>()(bool.where(f32, 0));
has<'float64'>()(sqrt(i32));
has<'int32'>()(i32.add(i32));
has<'float64'>()(i32.div(i32));
has<'bool'>()(f32.greater(x).logicalNot());
has<DType>()(i32.add(0.5));
has<DType>()(f32.add(f64));
has<DType>()(x.add(f32).sqrt());
has<'int64'>()(lazy(new Int8Array(3)).cumulativeSum());
has<'float64'>()(lazy(new Int8Array(3)).median());
has<'float32'>()(f32.cumulativeProd(0, { reverse: true }).cumulativeMax(0));
has<'float64'>()(f32.cumulativeSum(0, { dtype: 'float64' }));
has<'float32'>()(f32.sum(0).max().softmax().std({ correction: 1 }));
has<'float64'>()(f32.sum({ dtype: 'float64' }));
has<'float64'>()(f32.mean(0, { dtype: 'float64' }));
has<'int64'>()(i32.sum().add(f32.argmax(0)).add(f32.countNonzero()));
has<'bool'>()(f32.any().add(all(f32)));
has<'float32'>()(concat([f32, f32]));
has<'float32' | 'float64'>()(concat([f32, f64]));
has<'float32'>()(iterate(3, f32, (y, step) => y.mul(step)));
const anyDType: Lazy = f32;
const halves: Lazy<'float16' | 'float32'> = f16;
void [anyDType, halves];
// @ts-expect-error it may have another dtype
const single: Lazy<'float32'> = x;
// @ts-expect-error it has another dtype
const double: Lazy<'float32'> = f64;
void [single, double];

const typedResults = async (): Promise<void> => {
  const floats: Float32Array = (await f32.mul(2).compute()).data;
  const number: number = (await f16.max().compute()).item();
  const truth: boolean = (await bool.compute()).at(0);
  const wide: number | bigint = (await i64.compute()).item();
  const complex: { re: number } = (await lazy([{ re: 1, im: 1 }]).compute()).item();
  const bigints: bigint | NestedResult<bigint>[] = (await i64.compute()).toArray();
  const [stored, low] = await persist([f32, i32.min()]);
  const { a, b } = await compute({ a: stored, b: [low, [1]] });
  const halfBits: Uint16Array = (await f16.compute()).data;
  has<'float32'>()(lazy(await f32.compute()));
  const doubled = compile((y: Lazy<'float32'>) => ({ y: y.mul(2), n: y.argmax() }));
  const positions: BigInt64Array = (await doubled(new Float32Array(2))).n.data;
  has<'float32'>()((await doubled.persist(await f32.compute())).y);
  // @ts-expect-error these are float64
  doubled([1, 2]);
  // @ts-expect-error and this is any dtype
  doubled(x);
  // @ts-expect-error int64 may be bigints
  const narrow: number = (await i64.compute()).item();
  const lists: [Float32Array, Int32Array, Float64Array] = [a.data, b[0].data, b[1].data];
  void [floats, number, truth, wide, complex, bigints, lists, halfBits, positions, narrow];
};
void typedResults;

// Pinned arrays are made to be written to.
const filling = async (): Promise<void> => {
  (await pinned([3])).data.fill(1);
  (await pinned([3], 'float64')).data.set([1, 2, 3]);
  (await pinned(3, { dtype: 'int64' })).data.fill(1n);
  // @ts-expect-error int64 is bigints
  (await pinned(3, 'int64')).data.fill(1);
};
void filling;

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
const asInterface: { x: Lazy; v: Lazy } = iterate(3, state, (s) => ({ x: s.x.add(s.v), v: s.v }));
const whileInterface: { x: Lazy; v: Lazy } = whileLoop(
  (s) => s.x.less(3),
  (s): State => ({ x: s.x.add(s.v), v: s.v }),
  state,
);
void [stepped, first, second, named, found, asInterface, whileInterface];
// @ts-expect-error a state of an interface is an array
iterate(3, { x, name: 'x' } as { x: Lazy; name: string }, (s) => s);
// @ts-expect-error a state is missing
iterate(3, [x, 1], ([a]) => [a]);
// @ts-expect-error there is no such state
iterate(3, { x }, (s) => ({ x: s.y }));
// @ts-expect-error there is no such option
iterate(3, x, (y) => y, { each: 2 });
