/**
 * Random programs of a few results that share their parts, for the property that a result has the bits that it
 * has alone. Used by `test/conformance/company.test.ts`.
 */

import { planTape } from '../../src/codegen/cpu/tape.js';
import { cpuInfo } from '../../src/exec/native/native.js';
import { kernelsOf } from '../../src/exec/plan/plan.js';
import { CPU } from '../../src/exec/targets/device.js';
import { printKernel } from '../../src/fusion/kernel/print.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { DType } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { chunked, compute, type Lazy, lazy, type NDArray, plan } from '../../src/index.js';
import { enoughFor, leastBudgetOf } from './budget-corpus.js';
import { JOINS } from './company-joins.js';
import {
  AxisDraw,
  HARSH,
  type Kind,
  type Made,
  MOST_ELEMENTS,
  ORDINARY,
  PRODUCTS,
  sizeOf,
} from './company-kinds.js';
import { LOOPS } from './company-loops.js';
import { planOnDevice } from './device-plan.js';
import { toScalars } from './host.js';
import { randomValues } from './random.js';
import { isComplexValue } from './scalar.js';
import { mismatch } from './ulp.js';

/** A value, `v0`, `v1` …, and the expression that made it, over values before it. */
interface Member {
  readonly name: string;
  readonly text: string;
  readonly value: Lazy;
  readonly inputs: readonly Member[];
}

/** A program: the results that are computed together. */
export interface Company {
  readonly results: readonly Member[];
  readonly exact: boolean;
}

const KINDS = {
  ordinary: ORDINARY,
  sums: HARSH,
  products: PRODUCTS,
  loops: LOOPS,
  joins: JOINS,
} satisfies Record<string, Kind>;
export type KindName = keyof typeof KINDS;

/** The share of draws that make groups, where a kind has such. */
const GROUPS_OF_ALL = 0.25;

/** The program of a seed. `inPieces`: arrays are given in two pieces, which a run holds as a whole, or in windows. */
export function companyOf(seed: number, kind: KindName, inPieces = false): Company {
  const { shapes, dtypes, makers, group, members: most, results: wantedCount }: Kind = KINDS[kind];
  const draw = new AxisDraw(seed);
  const shape = draw.of(shapes);
  const members: Member[] = [1, 2].map((k) => {
    const dtype = dtypes.length === 1 ? dtypes[0]! : draw.of(dtypes);
    const { data } = randomValues(dtype, shape, 10 * seed + k);
    const value = inPieces ? pieces(data, shape, dtype) : whole(data, shape, dtype);
    return { name: `v${k - 1}`, text: `${dtype} [${shape}]`, value, inputs: [] };
  });
  const count = most[0] + draw.below(most[1]);
  for (let tries = 0; members.length < count && tries < 60; tries++) {
    // The newest are read the most often.
    const place = (): number => Math.floor(members.length * Math.sqrt(draw.next()));
    const [a, b] = [members[place()]!, members[draw.next() < 0.5 ? place() : draw.below(members.length)]!];
    const isGroup = group !== undefined && (members.length === 2 || draw.next() < GROUPS_OF_ALL);
    const made = isGroup ? group(a.value, b.value, draw) : draw.of(makers)(a.value, b.value, draw);
    if (made === undefined) continue;
    for (const [form, value] of (isGroup ? made : [made]) as readonly Made[]) {
      if (sizeOf(value.shape) > MOST_ELEMENTS || sizeOf(value.shape) === 0) continue;
      const text = form.replaceAll(/\b[xy]\b/g, (name) => (name === 'x' ? a.name : b.name));
      members.push({ name: `v${members.length}`, text, value, inputs: [a, b] });
    }
  }
  const results = new Set<Member>();
  const wanted = wantedCount[0] + draw.below(wantedCount[1]);
  while (results.size < Math.min(wanted, members.length - 2))
    results.add(members[2 + draw.below(members.length - 2)]!);
  const exact = draw.next() < 0.25;
  return { results: [...results], exact };
}

const whole = (data: TypedArray, shape: readonly number[], dtype: DType): Lazy =>
  lazy(data as Float32Array, { shape: [...shape], dtype } as { shape: number[] });

function pieces(data: TypedArray, shape: readonly number[], dtype: DType): Lazy {
  const cut = Math.floor(data.length / 3);
  return chunked([data.subarray(0, cut), data.subarray(cut)], [...shape], dtype);
}

/** The values that some are made of, in order. */
function textOf({ results, exact }: Company): string {
  const needed = new Set(results);
  for (const member of needed) for (const input of member.inputs) needed.add(input);
  const lines = [...needed]
    .sort((a, b) => Number(a.name.slice(1)) - Number(b.name.slice(1)))
    .map(({ name, text }) => `${name} = ${text}`);
  return `${lines.join('; ')}${exact ? '; exactly' : ''}`;
}

/** A result that has other bits together than alone. */
export interface Difference {
  /** The result, those that it was computed with, and the program. */
  readonly text: string;
  /** Whether values differ by no more than the compiler of a GPU may make of one expression. */
  readonly isRounding: boolean;
}

/** The results of a program that have other bits together than alone. */
export async function differencesIn(company: Company, device: string): Promise<Difference[]> {
  const { results, exact } = company;
  const values = results.map(({ value }) => value);
  const together = await compute(values, { device, exact });
  const names = results.map(({ name }) => name).join(', ');
  const differences: Difference[] = [];
  for (const [k, value] of values.entries()) {
    const [alone] = await compute([value], { device, exact });
    if (bytesOf(alone!.data).equals(bytesOf(together[k]!.data))) continue;
    const text = `${results[k]!.name} of ${names}: ${textOf(company)}`;
    differences.push({ text, isRounding: isRounding(alone!, together[k]!) });
  }
  return differences;
}

/** The kernels by which the CPU computes a program that have no blocks in the order of their sums. */
export function kernelsWithoutOrder({ results, exact }: Company): string[] {
  const canonical = canonicalize(results.map(({ value }) => value.expr));
  const { steps } = planOnDevice(canonical, CPU, { exact }).plan;
  return steps
    .flatMap(kernelsOf)
    .filter((kernel) => !planTape(kernel).isInOrder)
    .map(printKernel);
}

/** A program computed within budgets. */
interface Within {
  /** Budgets of less than the program holds otherwise, and those of them in which it is computed in more tiles. */
  readonly budgets: number;
  readonly tiled: number;
  /** The results that have other bits within one of them. */
  readonly texts: readonly string[];
}

/** Budgets that are tried, by the bytes that a program holds otherwise, and the least that it can be planned for. */
export type Budgets = (whole: number, least: number) => readonly number[];

/** Just below the whole, half-way from there to the least, and that. */
export const BELOW: Budgets = (whole, least) => [whole - 1, Math.floor((whole + least) / 2), least];

/** Half and an eighth. */
export const PARTS: Budgets = (whole) => [2, 8].map((part) => Math.max(1, Math.floor(whole / part)));

/**
 * Computes a program within budgets, or the least that it can be planned for where they are smaller. Not those with a
 * library's products, which may sum the parts of a product in other orders.
 */
export async function differencesWithin(
  company: Company,
  device: string,
  budgetsOf: Budgets,
): Promise<Within> {
  const { results, exact } = company;
  const values = results.map(({ value }) => value);
  const options = { device, exact };
  const isOfLibrary = textOf(company).includes(' @ ') && (device !== 'cpu' || cpuInfo().blas !== null);
  const held = isOfLibrary ? undefined : plan(values, options);
  if (held === undefined || held.peakBytes === 0) return { budgets: 0, tiled: 0, texts: [] };
  const { peakBytes } = held;
  const least = leastBudgetOf(values, options);
  const tried = least < peakBytes ? budgetsOf(peakBytes, least) : [];
  const enough = tried.map((memory) => enoughFor(values, { ...options, memory }).memory as number);
  const budgets = [...new Set(enough)].filter((memory) => memory < peakBytes);
  const wanted = budgets.length === 0 ? [] : await compute(values, options);
  let tiled = 0;
  const texts: string[] = [];
  for (const memory of budgets) {
    if (tilesOf(plan(values, { ...options, memory })) > tilesOf(held)) tiled++;
    const found = await compute(values, { ...options, memory });
    for (const [k, { data }] of found.entries())
      if (!bytesOf(data).equals(bytesOf(wanted[k]!.data)))
        texts.push(`${results[k]!.name} within ${memory} of ${peakBytes} bytes: ${textOf(company)}`);
  }
  return { budgets: budgets.length, tiled, texts };
}

const tilesOf = ({ sweeps }: ReturnType<typeof plan>): number =>
  sweeps.reduce((sum, { tiles }) => sum + tiles, 0);

/**
 * Whether values are a few units apart. The compiler of a GPU contracts a product and a sum where it sees both, which a
 * simulated one does not.
 */
function isRounding(one: NDArray, other: NDArray): boolean {
  const sizes = toScalars(one).map((value) =>
    isComplexValue(value) ? Math.hypot(value.re, value.im) : Math.abs(Number(value)),
  );
  const largest = sizes.filter(Number.isFinite).reduce((a, b) => Math.max(a, b), 0);
  return mismatch(one, other, { ulp: 4, absolute: 1e-6 * largest, anyZero: true }) === undefined;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
