/**
 * Random chains of arithmetic over two arrays in caches, beside the same loops by a compiler: how much of its time each
 * takes, in time of a processor (`WEFT_THREADS=1`), the least of several turns; and the planner's predictions.
 *
 * usage: WEFT_THREADS=1 node dist/bench/chains.js [--count 60] [--seed 1] [--turns 3] [--bytes 65536] [--functions]
 *        [--sums] [--compiler g++] [--flags='-O3 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=off'] [--json]
 *        --functions: exp, sin, cos, log and tanh among the ops, of the C library's vector functions; --sums: the sum of
 *        the last value in its place
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { encodeTape } from '../src/codegen/cpu/tape.js';
import { secondsOfTape } from '../src/codegen/cpu/tape-seconds.js';
import { timeTape } from '../src/exec/native/native.js';
import { cpuRates, measureRates } from '../src/exec/targets/cpu-probes.js';
import type { Kernel } from '../src/fusion/kernel/kernel.js';
import { KernelBuilder } from '../test/support/kernel-builder.js';
import { generator } from '../test/support/random.js';
import { median } from './statistics.js';

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    turns: { type: 'string', default: '3' },
    bytes: { type: 'string', default: '65536' },
    functions: { type: 'boolean', default: false },
    sums: { type: 'boolean', default: false },
    compiler: { type: 'string', default: 'g++' },
    flags: {
      type: 'string',
      default: '-O3 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=off',
    },
    json: { type: 'boolean', default: false },
  },
});
const TURN_MS = 10;
/** Bytes of an array. */
const ARRAY_BYTES = Number(options.bytes);
const [LEAST_OPS, MOST_OPS] = [3, 27];

/** The C++ of ops, of their arguments. */
const UNARY = {
  abs: (a: string) => `std::fabs(${a})`,
  negative: (a: string) => `-${a}`,
  square: (a: string) => `${a} * ${a}`,
  sqrt: (a: string) => `std::sqrt(${a})`,
  reciprocal: (a: string) => `1 / ${a}`,
  round: (a: string) => `std::rint(${a})`,
  floor: (a: string) => `std::floor(${a})`,
} as const;
const ONCE: readonly string[] = ['abs', 'negative', 'round', 'floor'];
const FUNCTIONS = {
  exp: (a: string) => `exp_(${a})`,
  sin: (a: string) => `sin_(${a})`,
  cos: (a: string) => `cos_(${a})`,
  log: (a: string) => `log_(${a})`,
  tanh: (a: string) => `tanh_(${a})`,
} as const;
const BINARY = {
  add: (a: string, b: string) => `${a} + ${b}`,
  subtract: (a: string, b: string) => `${a} - ${b}`,
  multiply: (a: string, b: string) => `${a} * ${b}`,
  divide: (a: string, b: string) => `${a} / ${b}`,
  maximum: (a: string, b: string) => `${a} != ${a} ? ${a} : (${a} > ${b} ? ${a} : ${b})`,
  minimum: (a: string, b: string) => `${a} != ${a} ? ${a} : (${a} < ${b} ? ${a} : ${b})`,
} as const;
const COMPARISONS = { less: '<', lessEqual: '<=', greater: '>', greaterEqual: '>=', equal: '==' } as const;

interface Case {
  readonly label: string;
  readonly kernel: Kernel;
  readonly source: string;
  own: number;
  compiled: number;
}

function caseOf(k: number): Case {
  const next = generator(Number(options.seed) * 1000 + k);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const dtype = k % 2 === 0 ? 'float32' : 'float64';
  const elements = ARRAY_BYTES / (dtype === 'float32' ? 4 : 8);
  const type = dtype === 'float32' ? 'float' : 'double';
  const ops = LEAST_OPS + Math.floor(next() * (MOST_OPS - LEAST_OPS + 1));
  const b = options.sums ? new KernelBuilder([], [elements]) : new KernelBuilder([elements]);
  const values = [b.load(dtype, [1]), b.load(dtype, [1])];
  const names = ['x[i]', 'y[i]'];
  for (let c = 0; c < 2; c++) {
    const value = 0.5 + next();
    values.push(b.constant(dtype, value));
    names.push(`${type}(${value})`);
  }
  const lines: string[] = [];
  const push = (value: number, text: string): void => {
    lines.push(`    const ${type} v${lines.length} = ${text};`);
    names.push(`v${lines.length - 1}`);
    values.push(value);
  };
  let last = 0;
  // Those that do nothing more the second time, or undo it, at most once.
  const done = new Set<string>();
  for (let op = 0; op < ops; op++) {
    // Another value than the last: a compiler simplifies ops of one value with itself, and roundings of integers.
    const other = Math.floor(next() * (values.length - 1)) + (last === 0 ? 1 : 0);
    const way = next();
    if (options.functions && way < 0.1) {
      const name = pick(Object.keys(FUNCTIONS) as (keyof typeof FUNCTIONS)[]);
      push(b.map(name, values[last]!), FUNCTIONS[name](names[last]!));
    } else if (way < 0.3) {
      const name = pick((Object.keys(UNARY) as (keyof typeof UNARY)[]).filter((each) => !done.has(each)));
      if (ONCE.includes(name)) done.add(name);
      push(b.map(name, values[last]!), UNARY[name](names[last]!));
    } else if (way < 0.85) {
      const name = pick(Object.keys(BINARY) as (keyof typeof BINARY)[]);
      const [p, q] = next() < 0.5 ? [last, other] : [other, last];
      push(b.map(name, values[p]!, values[q]!), BINARY[name](names[p]!, names[q]!));
    } else {
      const name = pick(Object.keys(COMPARISONS) as (keyof typeof COMPARISONS)[]);
      const third = Math.floor(next() * (values.length - 1)) + (last === 0 ? 1 : 0);
      const condition = b.map(name, values[last]!, values[other]!);
      const text = `${names[last]} ${COMPARISONS[name]} ${names[other]} ? ${names[third]} : ${names[last]}`;
      push(b.map('where', condition, values[third]!, values[last]!), text);
    }
    last = values.length - 1;
  }
  b.store(options.sums ? b.reduce('sum', values[last]!) : values[last]!);
  const end = options.sums ? `    sum += ${names[last]};` : `    out[i] = ${names[last]};`;
  const before = options.sums ? `  ${type} sum = 0;\n#pragma omp simd reduction(+ : sum)\n` : '';
  const after = options.sums ? '\n  out[0] = sum;' : '';
  const source = `void f${k}(const ${type}* __restrict x, const ${type}* __restrict y, ${type}* __restrict out) {
${before}  for (long i = 0; i < ${elements}; i++) {
${lines.join('\n')}
${end}
  }${after}
}`;
  return {
    label: `${ops} ops of ${dtype} `,
    kernel: b.build(),
    source,
    own: Number.POSITIVE_INFINITY,
    compiled: Number.POSITIVE_INFINITY,
  };
}

/** A program that prints the nanoseconds of a run of a function, by its number. */
const programOf = (cases: readonly Case[]): string => `#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#define DECLARE(name) \\
  extern "C" __attribute__((__simd__("notinbranch"))) double name(double) noexcept; \\
  extern "C" __attribute__((__simd__("notinbranch"))) float name##f(float) noexcept; \\
  static inline double name##_(double a) { return name(a); } \\
  static inline float name##_(float a) { return name##f(a); }
DECLARE(exp) DECLARE(sin) DECLARE(cos) DECLARE(log) DECLARE(tanh)
${cases.map(({ source }) => source).join('\n')}
static double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
template <typename T, typename F>
static void run(F f) {
  const size_t count = ${ARRAY_BYTES} / sizeof(T);
  T* const memory = static_cast<T*>(std::aligned_alloc(64, 3 * ${ARRAY_BYTES}));
  std::fill_n(memory, 3 * count, T(0.75));
  std::vector<double> times;
  const double end = now(CLOCK_MONOTONIC) + ${TURN_MS * 1e-3};
  while (now(CLOCK_MONOTONIC) < end) {
    const double begin = now(CLOCK_THREAD_CPUTIME_ID);
    f(memory, memory + count, memory + 2 * count);
    times.push_back(now(CLOCK_THREAD_CPUTIME_ID) - begin);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 10, times.end());
  std::printf("%.1f\\n", 1e9 * times[times.size() / 10]);
}
int main(int, char** argv) {
  switch (std::atoi(argv[1])) {
${cases.map((_, k) => `    case ${k}: run<${k % 2 === 0 ? 'float' : 'double'}>(f${k}); break;`).join('\n')}
  }
}
`;

const cases = Array.from({ length: Number(options.count) }, (_, k) => caseOf(k));
const folder = mkdtempSync(join(tmpdir(), 'chains-'));
try {
  const [source, program] = [join(folder, 'chains.cpp'), join(folder, 'chains')];
  writeFileSync(source, programOf(cases));
  execFileSync(options.compiler, [
    ...options.flags.split(' '),
    '-fopenmp-simd',
    source,
    '-o',
    program,
    '-lmvec',
    '-lm',
  ]);
  for (let turn = 0; turn < Number(options.turns); turn++)
    for (const [k, one] of cases.entries()) {
      one.compiled = Math.min(one.compiled, Number(execFileSync(program, [String(k)], { encoding: 'utf8' })));
      one.own = Math.min(one.own, 1e9 * (await timeTape(encodeTape(one.kernel), TURN_MS)));
    }
} finally {
  rmSync(folder, { recursive: true });
}

const ratioOf = ({ own, compiled }: Case): number => own / compiled;
await measureRates(cases.map(({ kernel }) => kernel));
const predictionOf = ({ kernel, own }: Case): number => (1e9 * secondsOfTape(kernel, cpuRates())) / own;
if (options.json) {
  for (const one of cases)
    console.log(
      JSON.stringify({
        label: one.label,
        own: one.own,
        compiled: one.compiled,
        ratio: ratioOf(one),
        prediction: predictionOf(one),
      }),
    );
} else {
  const ratios = cases.map(ratioOf).sort((a, b) => a - b);
  const beyond = ratios.filter((ratio) => ratio > 1.3).length;
  console.log(
    `${cases.length} chains: median ${median(ratios).toFixed(2)} of the compiler's time, worst ${ratios.at(-1)!.toFixed(2)}, beyond 1.3: ${beyond}`,
  );
  const predictions = cases.map(predictionOf);
  const apart = predictions.map((ratio) => Math.max(ratio, 1 / ratio));
  console.log(
    `predictions: median ${median(predictions).toFixed(2)} of the measured time, ${median(apart).toFixed(2)} apart, worst ${Math.max(...apart).toFixed(2)}`,
  );
  for (const one of [...cases].sort((a, b) => ratioOf(b) - ratioOf(a)).slice(0, 12))
    console.log(
      `${ratioOf(one).toFixed(2)}  ${(one.own / 1e3).toFixed(2)} µs against ${(one.compiled / 1e3).toFixed(2)}: ${one.label}`,
    );
}
