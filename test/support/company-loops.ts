/**
 * Programs of `random-company.ts` with loops: steps of maps, reductions, stencils, products and joins over one state and
 * several, which read each other and values from outside, some of them in loops of their own.
 */
import { concat, iterate, type Lazy, lazy, stack, where, whileLoop } from '../../src/index.js';
import { AxisDraw, broadcasts, HARSH, type Kind, type Made, ORDINARY, sizeOf } from './company-kinds.js';

/** The next value of a state `s`, of its shape and dtype, from itself, a value `w` beside it, and the number of the step. */
type Step = (s: Lazy, w: Lazy, i: Lazy, draw: AxisDraw) => Made | undefined;

/** Where a value fits beside a state, and does not make it larger. */
const fits = (s: Lazy, w: Lazy): boolean =>
  broadcasts(s, w) &&
  w.ndim <= s.ndim &&
  w.shape.toReversed().every((size, k) => size === 1 || size === s.shape.at(-1 - k));

const beside: Step = (s, w, _i, draw) => {
  if (!fits(s, w)) return undefined;
  const op = draw.of(['add', 'sub', 'mul'] as const);
  return [`tanh(0.9 s ${op} w)`, s.mul(0.9)[op](w).tanh()];
};

const damped: Step = (s) => ['0.5 s + 0.1', s.mul(0.5).add(0.1)];

const waves: Step = (s) => ['sin(s) + s²/8', s.sin().add(s.square().mul(0.125))];

const numbered: Step = (s, _w, i) => ['0.75 s + i/8', s.mul(0.75).add(i.mul(0.125))];

const chosen: Step = (s, w) =>
  fits(s, w) ? ['where(s > 0, s / 2, w)', where(s.greater(0), s.mul(0.5), w.tanh())] : undefined;

const mean: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axis = draw.axis(s);
  const around = s.add(s.roll(1, axis)).add(s.roll(-1, axis));
  return [`mean of neighbours along ${axis}`, around.div(3)];
};

/** Inside a border that stays. */
const held: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axis = draw.axis(s);
  if (s.shape[axis]! < 3) return undefined;
  const part = (range: readonly [number | null, number | null]): Lazy =>
    s.slice(...(s.shape.map((_, k) => (k === axis ? range : [null, null])) as Parameters<Lazy['slice']>));
  const inner = part([null, -2])
    .add(part([2, null]))
    .sub(part([1, -1]).mul(2));
  const widths = s.shape.map((_, k): [number, number] => (k === axis ? [1, 1] : [0, 0]));
  return [`s + 0.2 s'' along ${axis}`, s.add(inner.mul(0.2).pad(widths))];
};

const centred: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axes = draw.axes(s);
  const rest = s.sub(s.mean(axes, { keepdims: true }));
  return draw.next() < 0.5
    ? [`s - mean(s, [${axes}])`, rest]
    : [`(s - mean(s, [${axes}])) / std`, rest.div(s.std(axes, { keepdims: true }).add(0.1))];
};

const scaled: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axes = draw.axes(s);
  const size = s.norm(2, axes, { keepdims: true });
  return [`s / (1 + norm(s, [${axes}]))`, s.div(size.add(1))];
};

const factor: Step = (s, w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axes = draw.axes(s);
  const method = draw.of(['sum', 'mean', 'max', 'var', 'logsumexp'] as const);
  const from = fits(s, w) && draw.next() < 0.5 ? s.mul(w) : s.tanh();
  const text = `s * (1 + tanh(${method}(s w or tanh s, [${axes}])) / 4)`;
  return [text, s.mul(from[method](axes, { keepdims: true }).tanh().mul(0.25).add(1))];
};

/** Of what no step changes. */
const outer: Step = (s, w, _i, draw) => {
  if (w.ndim === 0) return undefined;
  const axes = draw.axes(w);
  const sum = w.tanh().sum(axes, { keepdims: true }).sin();
  return fits(s, sum) ? [`s / 2 + sin(sum(tanh(w), [${axes}]))`, s.mul(0.5).add(sum)] : undefined;
};

/** A sum over the axes of the transposed state, taken back. */
const turned: Step = (s, _w, _i, draw) => {
  if (s.ndim < 2) return undefined;
  const back = s.transpose().mul(0.5);
  const axes = draw.axes(back);
  const rest = back.sub(back.mean(axes, { keepdims: true })).transpose();
  return [`(s.T / 2 - mean(s.T / 2, [${axes}])).T`, rest];
};

const softmaxed: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axis = draw.axis(s);
  return [`s - softmax(s, ${axis})`, s.sub(s.softmax(axis))];
};

const shortSum: Step = (s, _w, _i, draw) => {
  const size = sizeOf(s.shape);
  const length = draw.of([2, 3, 4, 8, 16]);
  if (size % length !== 0 || size === length) return undefined;
  const rows = s.reshape([-1, length]);
  const rest = rows.sub(rows.mul(0.3).sum(1, { keepdims: true }).tanh());
  return [`s in rows of ${length} - tanh(sum(0.3 s))`, rest.reshape([...s.shape])];
};

const MOST_PRODUCTS = 2e7;

const product: Step = (s, w, _i, draw) => {
  if (s.ndim !== 2 || w.ndim !== 2 || `${s.shape}` !== `${w.shape}`) return undefined;
  const [n, m] = s.shape as readonly [number, number];
  const forms: [string, () => Lazy, number][] = [
    ['s @ (s.T @ w)', () => s.matmul(s.transpose().matmul(w)), n * m * m],
    ['s @ (w.T @ w)', () => s.matmul(w.transpose().matmul(w)), n * m * m],
    ['(w @ w.T) @ s', () => w.matmul(w.transpose()).matmul(s), n * n * m],
    ['softmax(s @ w.T) @ s', () => s.matmul(w.transpose()).mul(0.1).softmax(-1).matmul(s), n * n * m],
  ];
  const [text, build, operations] = draw.of(forms);
  if (operations > MOST_PRODUCTS) return undefined;
  const made = build();
  return draw.next() < 0.5
    ? [`tanh(${text} / ${n})`, made.div(n).tanh()]
    : [`(${text}) / (1 + max |…|)`, made.div(made.abs().max().add(1))];
};

const joined: Step = (s, w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axis = draw.axis(s);
  const size = s.shape[axis]!;
  if (size < 4) return undefined;
  const part = (v: Lazy, range: readonly [number | null, number | null]): Lazy =>
    v.slice(...(v.shape.map((_, k) => (k === axis ? range : [null, null])) as Parameters<Lazy['slice']>));
  const other = `${s.shape}` === `${w.shape}` && s.dtype === w.dtype ? w : s;
  const half = size >> 1;
  return [
    `concat([s or w from ${half} on, s to ${half}], ${axis})`,
    concat([part(other, [half, null]).tanh(), part(s, [null, half]).mul(0.9)], axis),
  ];
};

/** Neighbours as pairs, each by a map of its own, put back. */
const interleaved: Step = (s) => {
  const size = sizeOf(s.shape);
  if (size % 2 === 1 || size < 4) return undefined;
  const pairs = s.reshape([-1, 2]);
  const [a, b] = [0, 1].map((k) => pairs.slice([null, null], k)) as [Lazy, Lazy];
  const put = stack([a.mul(0.8).sub(b.mul(0.6)), a.mul(0.6).add(b.mul(0.8))], -1);
  return ['pairs turned', put.reshape([...s.shape])];
};

const taken: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axis = draw.axis(s);
  const size = s.shape[axis]!;
  const indices = Array.from({ length: size }, (_, k) => (7 * k) % size);
  return [`take(s, 7k, ${axis})`, s.take(indices, axis)];
};

const scanned: Step = (s, _w, _i, draw) => {
  if (s.ndim === 0) return undefined;
  const axis = draw.axis(s);
  return [`tanh(cumsum(s, ${axis}) / 16)`, s.cumulativeSum(axis).div(16).tanh()];
};

const wider: Step = (s) =>
  s.dtype === 'float64'
    ? undefined
    : ['s - mean(float64(s))', s.sub(s.astype('float64').mean().astype(s.dtype))];

/** Each as often as it is drawn. */
const STEPS: readonly Step[] = [
  ...[beside, beside, damped, waves, numbered, chosen, mean, held, centred, centred, centred, scaled, scaled],
  ...[factor, factor, factor, outer, turned, softmaxed, shortSum, shortSum, product, product, product],
  ...[joined, interleaved, taken, scanned, wider],
];

/** A few steps one after the other, of the state's dtype; some in a loop of their own. */
function severalOf(s: Lazy, w: Lazy, i: Lazy, draw: AxisDraw, most: number): Made {
  let [text, value]: Made = ['s', s];
  for (let count = 1 + draw.below(most), tries = 0; count > 0 && tries < 20; tries++) {
    const before = value;
    let made: Made | undefined;
    if (most > 1 && draw.next() < 0.06) {
      const times = 2 + draw.below(3);
      let inner = '';
      const loop = iterate(times, before, (t, j) => {
        const [own, next] = severalOf(t, w, j, draw, 1);
        inner = own;
        return next;
      });
      made = [`iterate(${times}, s, ${inner})`, loop];
    } else made = draw.of(STEPS)(before, w, i, draw);
    if (made === undefined || `${made[1].shape}` !== `${s.shape}`) continue;
    text = text === 's' ? made[0] : made[0].replaceAll(/\bs\b/g, `(${text})`);
    value = made[1].dtype === s.dtype ? made[1] : made[1].astype(s.dtype);
    count--;
  }
  return text === 's' ? ['0.5 s', s.mul(0.5)] : [text, value];
}

/** States, the expressions of their first values, and what a step makes of them. */
interface States {
  readonly first: readonly Lazy[];
  readonly text: readonly string[];
  /** The next values, and their expressions. */
  readonly step: (states: readonly Lazy[], i: Lazy, draw: AxisDraw) => readonly Made[];
}

/** One state, with a value from outside beside it. */
const single = (x: Lazy, y: Lazy): States => ({
  first: [x],
  text: ['x'],
  step: ([s], i, draw) => [named(severalOf(s!, y, i, draw, 3), 's', 'y')],
});

/** Two states that read each other. */
function pair(x: Lazy, y: Lazy, draw: AxisDraw): States {
  const readsNext = draw.next() < 0.5;
  return {
    first: [x, y],
    text: ['x', 'y'],
    step: ([s, t], i, draw) => {
      const one = severalOf(s!, t!, i, draw, 2);
      const other = severalOf(t!, readsNext ? one[1] : s!, i, draw, 2);
      return [named(one, 's', 't'), named(other, 't', readsNext ? 's next' : 's')];
    },
  };
}

/** A state, and sums of it along some axes. */
function summed(x: Lazy, y: Lazy, draw: AxisDraw): States {
  const axes = x.ndim === 0 ? [] : draw.axes(x);
  const method = draw.of(['sum', 'mean', 'max', 'norm', 'var'] as const);
  const of = (v: Lazy): Lazy => (method === 'norm' ? v.norm(2, axes) : v[method](axes));
  const readsNext = draw.next() < 0.5;
  const isRead = draw.next() < 0.3 && x.ndim > 0;
  const keeps = (v: Lazy): Lazy => v.reshape(x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)));
  return {
    first: [x, of(x)],
    text: ['x', `${method}(x, [${axes}])`],
    step: ([s, a], i, draw) => {
      const [text, next] = named(severalOf(s!, y, i, draw, 2), 's', 'y');
      const own: Made = isRead ? [`${text} - tanh(a)`, next.sub(keeps(a!).tanh())] : [text, next];
      const sum = of(readsNext ? own[1] : s!);
      return [own, [`a / 2 + ${method}(${readsNext ? 's next' : 's'}, [${axes}])`, a!.mul(0.5).add(sum)]];
    },
  };
}

/** An expression of a step with the names of its state and of the value beside it. */
const named = ([text, value]: Made, state: string, other: string): Made => [
  text.replaceAll(/\b[sw]\b/g, (name) => (name === 's' ? state : other)),
  value,
];

const loop: Kind['group'] = (x, y, draw) => {
  if (sizeOf(x.shape) > MOST_STATE) return undefined;
  const isPair = `${x.shape}` === `${y.shape}` && draw.next() < 0.6;
  const states = draw.next() < 0.3 ? single(x, y) : isPair ? pair(x, y, draw) : summed(x, y, draw);
  const steps = draw.of([1, 2, 3, 5, 9]);
  // A step that is written out is the same each time.
  const seed = draw.below(2 ** 30);
  let body = '';
  const step = (current: readonly Lazy[], i: Lazy): Lazy[] => {
    const made = states.step(current, i, new AxisDraw(seed));
    body = `[${states.text}], (s, t or a) => [${made.map(([text]) => text).join(', ')}]`;
    return made.map(([, value], k) => {
      const { dtype } = states.first[k]!;
      return value.dtype === dtype ? value : value.astype(dtype);
    });
  };
  const [head, build] = draw.of(FORMS)(steps);
  const results = build(states.first, step);
  return results.map((value, k): Made => [`${head}, ${body})[${k}]`, value]);
};

type Build = (first: readonly Lazy[], step: (states: readonly Lazy[], i: Lazy) => Lazy[]) => readonly Lazy[];

const repeated = (steps: number): readonly [string, Build] => [
  `iterate(${steps}`,
  (first, step) => iterate(steps, first, step),
];

const kept = (steps: number): readonly [string, Build] => [
  `iterate(${2 * steps}, every 2`,
  (first, step) => iterate(2 * steps, first, step, { every: 2 }),
];

const written = (steps: number): readonly [string, Build] => {
  const times = Math.min(steps, 3);
  const build: Build = (first, step) =>
    Array.from({ length: times }, (_, k) => k).reduce<readonly Lazy[]>((s, k) => step(s, lazy(k)), first);
  return [`written out(${times}`, build];
};

const whileHolds =
  (text: string, holds: (s: Lazy) => Lazy) =>
  (steps: number): readonly [string, Build] => [
    `while(${text}, at most ${steps + 1}`,
    (first, step) => whileLoop(([s]) => holds(s!), step, first, { max: steps + 1 }),
  ];

/** Each as often as it is drawn. */
const FORMS = [
  ...[repeated, repeated, repeated, repeated, repeated, repeated, kept, written, written],
  whileHolds('max |s| < 8', (s) => s.abs().max().less(8)),
  whileHolds('mean(s²) > 0.001', (s) => s.square().mean().greater(0.001)),
  whileHolds('sum(s) > -100', (s) => s.sum().greater(-100)),
];

/** Elements of a state at most. */
const MOST_STATE = 60_000;

export const LOOPS: Kind = {
  shapes: [
    [200, 200],
    [77, 301],
    [1000],
    [20_011],
    [40, 1003],
    [900, 40],
    [17, 3, 64],
    [6, 30, 9, 5],
    [2000, 3],
    [3, 2000],
    [7, 16],
    [64, 64],
    [48, 50],
    [33, 8, 30],
    [1, 900],
    [300, 16],
    [5000, 8],
  ],
  dtypes: ['float32', 'float32', 'float32', 'float32', 'float64', 'float16', 'bfloat16'],
  makers: [...ORDINARY.makers, ...HARSH.makers],
  group: loop,
  members: [5, 7],
  results: [2, 3],
};
