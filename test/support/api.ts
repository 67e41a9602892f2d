/**
 * How the conformance suite meets the public API: host arrays of the tests in, results out as host arrays.
 */

import { boundedJob } from '../../src/exec/run/true-sizes.js';
import type { Expr } from '../../src/graph/expr.js';
import type { Lazy } from '../../src/index.js';
import * as weft from '../../src/index.js';
import { allocate, type HostArray, sizeOf } from './host.js';
import { evaluateInterpreted } from './plan-interpreter.js';
import { evaluateReference } from './reference.js';

export const toLazy = ({ data, shape, dtype }: HostArray): Lazy => weft.lazy({ data, shape, dtype });

/** The outputs by the reference interpreter: the graph as the user built it, no pass, no kernel. */
export const referenceOf = (outputs: readonly Lazy[]): HostArray[] =>
  evaluateReference(outputs.map((x) => x.expr));

/** Computes all outputs together on a device, or with an interpreter that stands for one. */
export async function run(device: string, outputs: readonly Lazy[]): Promise<HostArray[]> {
  if (device === 'reference') return ofTrueSizes(outputs, evaluateReference);
  if (device === 'interpreted') return ofTrueSizes(outputs, evaluateInterpreted);
  const results = await weft.compute(outputs, { device });
  return results.map(({ dtype, shape, data }, i) => {
    const expected = allocate(dtype, sizeOf(shape));
    if (data.constructor !== expected.constructor)
      throw new TypeError(`output ${i}: ${data.constructor.name} for ${dtype}`);
    return { dtype, shape, data };
  });
}

/** Results of an interpreter, which computes axes whose sizes depend on data up to their bounds. */
function ofTrueSizes(
  outputs: readonly Lazy[],
  interpret: (exprs: readonly Expr[]) => HostArray[],
): HostArray[] {
  const exprs = outputs.map((x) => x.expr);
  const bounded = boundedJob(exprs);
  if (bounded === undefined) return interpret(exprs);
  const results = interpret(bounded.computed);
  return bounded.cuts.map((cut, k) => {
    const { data, shape, dtype } = results[k]!;
    if (cut === undefined) return { data, shape, dtype };
    const length = Number(results[cut.length]!.data[0]!);
    const rows = {
      data: data.slice(0, (data.length / shape[0]!) * length),
      shape: shape.with(0, length),
      dtype,
    };
    return cut.axis === 0 ? rows : evaluateReference([toLazy(rows).moveaxis(0, cut.axis).expr])[0]!;
  });
}

/** A free function of the API by name, for tests that loop over tables. */
export function freeFunction(name: string): (...args: readonly unknown[]) => Lazy {
  const found: unknown = (weft as Readonly<Record<string, unknown>>)[name];
  if (typeof found !== 'function') throw new TypeError(`the API has no function ${name}`);
  return found as (...args: readonly unknown[]) => Lazy;
}

/** Calls a method of a Lazy by name, for tests that loop over tables. */
export function callMethod(x: Lazy, name: string, args: readonly unknown[]): Lazy {
  const found: unknown = (x as unknown as Readonly<Record<string, unknown>>)[name];
  if (typeof found !== 'function') throw new TypeError(`Lazy has no method ${name}`);
  return (found as (...given: readonly unknown[]) => Lazy).call(x, ...args);
}

export interface Prepared {
  readonly label: string;
  readonly build: () => Lazy;
  /** Describes what is wrong with the result, or gives undefined. */
  readonly check: (actual: HostArray) => string | undefined;
}

/**
 * Computes many cases in one go and lists what is wrong. When that throws, each case is computed alone, so
 * that the report names those that fail.
 */
export async function failuresOf(device: string, cases: readonly Prepared[]): Promise<string[]> {
  const problems: string[] = [];
  const built: { readonly prepared: Prepared; readonly value: Lazy }[] = [];
  for (const prepared of cases) {
    try {
      built.push({ prepared, value: prepared.build() });
    } catch (error) {
      problems.push(`${prepared.label}: building: ${String(error)}`);
    }
  }
  const report = ({ label, check }: Prepared, actual: HostArray) => {
    const wrong = check(actual);
    if (wrong !== undefined) problems.push(`${label}: ${wrong}`);
  };
  try {
    const actual = await run(
      device,
      built.map(({ value }) => value),
    );
    built.forEach(({ prepared }, i) => {
      report(prepared, actual[i]!);
    });
  } catch {
    for (const { prepared, value } of built) {
      try {
        report(prepared, (await run(device, [value]))[0]!);
      } catch (error) {
        problems.push(`${prepared.label}: computing: ${String(error).slice(0, 400)}`);
      }
    }
    if (problems.length === 0) problems.push('computing all cases together throws, each alone does not');
  }
  return problems;
}
