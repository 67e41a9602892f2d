/**
 * Jobs for tests of budgets that loop: bodies of maps, which go through all steps tile by tile; stencils, of
 * which tiles do several steps at a time; and bodies that are swept in every step. The first are
 * hand-written, then come random ones.
 */
import { iterate, type Lazy, whileLoop } from '../../src/index.js';
import { type BudgetJob, randomMatrix } from './budget-corpus.js';
import { generator } from './random.js';

/** Arrays of some rows. */
type Arrays = (seed: number, columns?: number) => Lazy;

const column = (x: Lazy): Lazy => x.mean(0);
const above = (x: Lazy): Lazy =>
  x
    .pad([
      [1, 0],
      [0, 0],
    ])
    .slice([null, -1]);
const below = (x: Lazy): Lazy =>
  x
    .pad([
      [0, 1],
      [0, 0],
    ])
    .slice([1, null]);
const left = (x: Lazy): Lazy =>
  x
    .pad([
      [0, 0],
      [1, 0],
    ])
    .slice([], [null, -1]);
const around = (x: Lazy): Lazy => above(x).add(below(x)).add(left(x)).mul(0.25);

const WRITTEN: Readonly<Record<string, (arrays: Arrays) => readonly Lazy[]>> = {
  'a map, many times': (x) => [iterate(600, x(1), (y) => y.mul(0.75).add(0.1))],
  'a map, few times, of what is computed': (x) => [iterate(3, x(1).sin(), (y) => y.mul(0.75).add(0.1)).exp()],
  'two fields and what they capture': (x) => {
    const drag = x(3).abs().add(1);
    return iterate(9, [x(1), x(2)], ([p, v]) => [p.add(v.mul(0.01)), v.div(drag).sub(p.mul(0.01))]);
  },
  'the number of the step': (x) => {
    const push = x(3).abs();
    return [iterate(7, x(1), (y, i) => y.mul(0.5).add(i.astype('float32')).add(push))];
  },
  'a sum of rows after a loop': (x) => [iterate(5, x(1), (y) => y.square().sub(0.3)).sum(1)],
  'a stencil': (x) => [iterate(40, x(1), around)],
  'a stencil, a prime number of times': (x) => [iterate(37, x(1).add(1), (y) => around(y).add(0.01))],
  'a stencil, once': (x) => [iterate(1, x(1), around)],
  'a stencil of two fields': (x) =>
    iterate(12, [x(1), x(2)], ([u, v]) => [around(u).add(v.mul(0.1)), v.sub(u.mul(0.1))]),
  'a stencil, with states that are kept': (x) => [iterate(24, x(1), around, { every: 8 })],
  'rows backwards': (x) => [iterate(6, x(1), (y) => y.slice([null, null, -1]).mul(0.9))],
  'columns that are centered in every step': (x) => [
    iterate(4, x(1), (y) => y.sub(y.mean(0)).mul(0.9).add(0.05)),
  ],
  'rows that are normalized': (x) => [iterate(3, x(1), (y) => y.softmax(1).mul(3))],
  'a sum in every step': (x) => {
    const data = x(2);
    return [iterate(5, column(x(1)), (mean) => data.sub(mean).mean(0).mul(0.5).add(mean))];
  },
  'until it is small': (x) => [
    whileLoop(
      (y) => y.abs().max().greater(0.2),
      (y) => around(y).mul(0.7),
      x(1),
      { max: 20 },
    ),
  ],
  never: (x) => [
    whileLoop(
      (y) => y.max().greater(100),
      (y) => around(y),
      x(1),
    ),
  ],
  // No number of steps at a time but one or all divides what is between two states.
  'a stencil, with states that are kept, a prime number of steps apart': (x) => [
    iterate(26, x(1), around, { every: 13 }),
  ],
};

export const LOOP_JOBS = Object.keys(WRITTEN).length;

/** `scale`: of the arrays' rows. */
export function loopJob(k: number, scale = 1): BudgetJob {
  const rows = Math.round(4000 * scale);
  const arrays: Arrays = (seed, columns = 16) => randomMatrix(rows, columns, seed, seed % 2 === 0);
  const written = Object.entries(WRITTEN)[k];
  if (written !== undefined) return { name: written[0], results: written[1](arrays) };
  return randomLoop(k - LOOP_JOBS, arrays);
}

/**
 * A random body over one or two states: maps, neighbours, now and then means of columns or the number of the
 * step.
 */
function randomLoop(seed: number, arrays: Arrays): BudgetJob {
  const random = generator(seed);
  const below_ = (n: number): number => Math.floor(random() * n);
  const [steps, count, depth] = [1 + below_(30), 1 + below_(2), 1 + below_(4)];
  const kinds = seed % 3;
  const used: string[] = [];
  const step = (states: readonly Lazy[], i: Lazy): Lazy[] =>
    states.map((state, k) => {
      let x = state;
      for (let d = 0; d < depth; d++) {
        const choices: Readonly<Record<string, (y: Lazy) => Lazy>> = {
          half: (y) => y.mul(0.5).add(0.125),
          tanh: (y) => y.tanh(),
          other: (y) => y.sub(states[(k + 1) % count]!.mul(0.25)),
          ...(kinds > 0 ? { above, left, around } : { number: (y: Lazy) => y.add(i.astype('float32')) }),
          ...(kinds > 1
            ? { mean: (y: Lazy) => y.sub(y.mean(0)), top: (y: Lazy) => y.sub(y.max(1, { keepdims: true })) }
            : {}),
        };
        const names = Object.keys(choices);
        const name = names[below_(names.length)]!;
        used.push(name);
        x = choices[name]!(x);
      }
      return x.mul(0.5);
    });
  const states = Array.from({ length: count }, (_, k) => arrays(seed * 2 + k));
  const kept = seed % 4 === 3 ? { every: 1 + below_(steps) } : {};
  const results = iterate(steps, states, (s, i) => step(s, i), kept);
  const name = `seed ${seed}: ${steps} steps of ${used.join(', ')}, kept ${JSON.stringify(kept)}`;
  return { name, results: Object.values(results) };
}
