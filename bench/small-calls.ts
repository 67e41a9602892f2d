/**
 * Small calls on the CPU beside their floor: an async function that calls the addon with nothing but the program, whose arrays
 * it knows, and gives a result. Prints microseconds of processor time, V8's collector included: the least of many rounds, and
 * their median. Cases take turns, so that all see the same minutes of a loaded machine.
 *
 * `node dist/bench/small-calls.js [--rounds 100] [--calls 500]`
 */

import { parseArgs } from 'node:util';
import { exprOf } from '../src/api/lazy.js';
import { ndarrayOf } from '../src/api/ndarray.js';
import { addon } from '../src/exec/native/native-addon.js';
import { computeTargetOf, devicesOf } from '../src/exec/run/compute-target.js';
import { programOf } from '../src/exec/run/program.js';
import { numbersFor } from '../src/exec/run/run-numbers.js';
import { cpuProgram } from '../src/exec/targets/program-cpu.js';
import { canonicalize } from '../src/fusion/passes/canonicalize.js';
import type { HostSource } from '../src/graph/expr.js';
import { compile, type Lazy, lazy, linalg } from '../src/index.js';
import { median, toDigits } from './statistics.js';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, calls: { type: 'string', default: '500' } },
});
const [rounds, calls] = [Number(values.rounds), Number(values.calls)];
if (!(rounds >= 1 && calls >= 1)) throw new RangeError('--rounds and --calls: expected counts');

const cpu = { device: 'cpu' } as const;
const LENGTH = 1000;
const ROWS = 16;
const ALL_GIVEN = 0xffffffff;

const [x, y] = [1, 2].map((seed) =>
  lazy(Float32Array.from({ length: LENGTH }, (_, i) => (i * seed) % 7)),
) as [Lazy, Lazy];
const diagonal = 5;
const matrix = Float64Array.from({ length: ROWS * ROWS }, (_, i) =>
  i % (ROWS + 1) === 0 ? diagonal : Math.sin(i),
);
const a = lazy(matrix, { shape: [ROWS, ROWS] });
const b = lazy(Float64Array.from({ length: ROWS }, (_, i) => i));

/** Memory that the addon knows, and that the collector would free. */
const known: object[] = [];

/** Calls the program of an expression in the addon, which knows its arrays: each run reads and writes the same memory. */
async function bareRun(result: Lazy): Promise<() => void> {
  const canonical = canonicalize([exprOf('bench', result)]);
  const { one } = await programOf(canonical, computeTargetOf(devicesOf(canonical, cpu), cpu, 'host'));
  const spec = cpuProgram(one!.plan);
  const draft = addon().beginProgram(spec);
  addon().addBuffers(draft, spec, spec.buffers.length);
  addon().addTapes(draft, spec, spec.tapes?.length ?? 0);
  addon().addSteps(draft, spec, spec.steps.length);
  const program = addon().endProgram(draft, spec);
  const inputs = one!.plan.inputs.map((k) => (canonical.sources[k]!.source as HostSource).data);
  const outputs = spec.buffers.flatMap(({ role, byteLength }) =>
    role === 'output' ? [new ArrayBuffer(byteLength)] : [],
  );
  known.push(...inputs, ...outputs);
  const numbers = numbersFor(canonical);
  addon().runSmall(program, ALL_GIVEN, ...inputs, ...outputs, ...(numbers === undefined ? [] : [numbers]));
  const run = addon().runSmall;
  return numbers === undefined ? () => run(program, 0) : () => run(program, 0, numbers);
}

const scalar = Object.freeze([]);
const vector = Object.freeze([LENGTH]);
const row = Object.freeze([ROWS]);
const small = (): unknown => ndarrayOf({ data: new Float32Array(1), shape: scalar, dtype: 'float32' });
const solved = (): unknown =>
  ndarrayOf({
    data: new Float64Array(new ArrayBuffer(ROWS * Float64Array.BYTES_PER_ELEMENT)),
    shape: row,
    dtype: 'float64',
  });
const large = (): unknown =>
  ndarrayOf({
    data: new Float32Array(new ArrayBuffer(LENGTH * Float32Array.BYTES_PER_ELEMENT)),
    shape: vector,
    dtype: 'float32',
  });

const dot = await bareRun(x.mul(y).sum());
const plusOne = await bareRun(x.add(1));
const solution = await bareRun(linalg.solve(a, b));
const compiledDot = compile((p: Lazy, q: Lazy) => p.mul(q).sum(), cpu);
const compiledAdd = compile((p: Lazy) => p.add(1), cpu);
const compiledSolve = compile((p: Lazy, q: Lazy) => linalg.solve(p, q), cpu);

const CASES: Readonly<Record<string, () => Promise<unknown>>> = {
  'an async function': async () => 1,
  'that gives one element': async () => small(),
  'that gives 1,000 float32': async () => large(),
  'floor of a sum of products': async () => {
    dot();
    return small();
  },
  'x.mul(y).sum(), compiled': () => compiledDot(x, y),
  'x.mul(y).sum(), built each time': () => x.mul(y).sum().compute(cpu),
  'floor of adding one': async () => {
    plusOne();
    return large();
  },
  'x.add(1), compiled': () => compiledAdd(x),
  'x.add(1), built each time': () => x.add(1).compute(cpu),
  'floor of a solution': async () => {
    solution();
    return solved();
  },
  'linalg.solve, compiled': () => compiledSolve(a, b),
  'linalg.solve, built each time': () => linalg.solve(a, b).compute(cpu),
};

const microseconds = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

const WARM = 20;
const times = Object.entries(CASES).map(([name, run]) => ({ name, run, all: [] as number[] }));
for (let round = -WARM; round < rounds; round++) {
  for (const { run, all } of times) {
    const begin = microseconds();
    for (let call = 0; call < calls; call++) await run();
    if (round >= 0) all.push((microseconds() - begin) / calls);
  }
}
console.log(`${'microseconds'.padEnd(36)} ${'least'.padStart(7)} ${'median'.padStart(7)}`);
for (const { name, all } of times) {
  const [least, middle] = [Math.min(...all), median(all)].map((each) =>
    String(toDigits(each, 2)).padStart(7),
  );
  console.log(`${name.padEnd(36)} ${least} ${middle}`);
}
