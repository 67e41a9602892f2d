/**
 * Whether a device computes a random graph as the reference does, and a test that shows that it does not.
 * Used by `test/conformance/random-graphs.test.ts`, by the soak test on the simulated CUDA, and by records of
 * devices.
 */
import { isHalf } from '../../src/graph/dtype.js';
import { run } from './api.js';
import { type HostArray, toScalars } from './host.js';
import type { RandomProgram } from './random-graph.js';
import { isComplexValue } from './scalar.js';
import { mismatch, type Tolerance } from './ulp.js';

const sizes = (x: HostArray): number[] =>
  toScalars(x).map((v) => (isComplexValue(v) ? Math.hypot(v.re, v.im) : Math.abs(Number(v))));

/** Relative to the largest value anywhere in the program, which errors of its parts are. */
export function tolerances(
  program: RandomProgram,
  reference: readonly HostArray[],
): (k: number) => (i: number) => Tolerance | undefined {
  const floats = reference.filter((x) => /float|complex/.test(x.dtype));
  const scale = floats
    .flatMap(sizes)
    .filter(Number.isFinite)
    .reduce((a, b) => Math.max(a, b), 1);
  const coarsest = floats.some((x) => x.dtype === 'bfloat16')
    ? 0.06
    : floats.some((x) => x.dtype === 'float16')
      ? 0.01
      : 1e-4;
  return (k) => {
    const { dtype } = reference[k]!;
    const values = sizes(reference[k]!);
    if (program.values[k]!.exact) return () => ({ ulp: 0, anyZero: true });
    // A half may overflow on one side of an error and not on the other.
    const overflows = isHalf(dtype) || scale > 1e30;
    return (i) =>
      overflows && !Number.isFinite(values[i]!) ? undefined : { ulp: 4, absolute: coarsest * scale };
  };
}

/** The values to compute: the last one, and those picked. */
const outputsOf = (program: RandomProgram, picks: readonly number[]): readonly number[] => [
  program.values.length - 1,
  ...picks.map((pick) => pick % program.values.length),
];

const FUNCTIONS = [
  ...['arange', 'concat', 'einsum', 'eye', 'full', 'histogram', 'iterate', 'lexsort', 'linspace', 'nonzero'],
  ...['stack', 'topK', 'uniqueAll', 'uniqueInverse', 'where', 'whileLoop', 'zeros'],
];

/**
 * A test that computes the program and compares it with the reference: to be pasted into a file of `test/`.
 */
export function reproduction(device: string, program: RandomProgram, picks: readonly number[]): string {
  const text = program.code.join('\n');
  const used = FUNCTIONS.filter((name) => new RegExp(`(?<!\\.)\\b${name}\\(`).test(text));
  const outputs = `[${outputsOf(program, picks)
    .map((k) => `v${k}`)
    .join(', ')}]`;
  return [
    "import { expect, it } from 'vitest';",
    ...(used.length > 0 ? [`import { ${used.join(', ')} } from '../src/index.js';`] : []),
    "import { run, toLazy } from './support/api.js';",
    "import { randomIntegers } from './support/random.js';",
    '',
    "it('gives what the reference gives', async () => {",
    ...program.code.map((line) => `  ${line}`),
    `  expect(await run('${device}', ${outputs})).toEqual(await run('reference', ${outputs}));`,
    '});',
  ].join('\n');
}

/** The fault of the last value and those picked, computed together on a device; undefined: nothing. */
export async function failureOf(
  device: string,
  program: RandomProgram,
  picks: readonly number[],
): Promise<string | undefined> {
  const reference = await run(
    'reference',
    program.values.map((value) => value.lazy),
  );
  const tolerance = tolerances(program, reference);
  const outputs = outputsOf(program, picks);
  const actual = await run(
    device,
    outputs.map((k) => program.values[k]!.lazy),
  );
  for (const [position, k] of outputs.entries()) {
    const wrong = mismatch(actual[position]!, reference[k]!, tolerance(k));
    if (wrong !== undefined) return `outputs v${outputs.join(', v')}\nv${k}: ${wrong}`;
  }
  return undefined;
}
