/** Cases of functions against NumPy, by the name of the function: for the conformance tests of composites and routines. */
import type { Lazy } from '../../src/index.js';
import { freeFunction, type Prepared, toLazy } from './api.js';
import { type CompositeCase, fixtures } from './fixtures.js';
import type { HostArray } from './host.js';
import { mismatch } from './ulp.js';

type Group = 'arrays' | 'binning' | 'composites' | 'fourier' | 'functions' | 'linear' | 'ndimage' | 'sparse';
type Case = CompositeCase & { readonly read: (stored: CompositeCase['output']) => HostArray };
type Functions = (name: string) => (...args: readonly unknown[]) => Lazy;

/** The cases of fixture files by the function that they call, in the order of the files. */
export function casesByCall(...groups: readonly Group[]): ReadonlyMap<string, readonly Case[]> {
  const byCall = new Map<string, Case[]>();
  for (const { cases, read } of groups.map((group) => fixtures(group)))
    for (const c of cases) {
      const own = byCall.get(c.call) ?? [];
      own.push({ ...c, read });
      byCall.set(c.call, own);
    }
  return byCall;
}

/** Cases as builds of the public API and checks of their results. */
export function prepareCases(
  cases: readonly Case[],
  functionOf: Functions = freeFunction as unknown as Functions,
): Prepared[] {
  return cases.map((c) => ({
    label: `${c.call}(${JSON.stringify(c.args)}) of ${c.inputs.map((x) => `${x.dtype} [${x.shape}]`)}`,
    build: () => {
      const result = functionOf(c.call)(...(withArrays(c.args, c) as unknown[]));
      return c.part === undefined
        ? result
        : (result as unknown as Readonly<Record<number | string, Lazy>>)[c.part]!;
    },
    check: (actual) => mismatch(actual, c.read(c.output), { ulp: 0, absolute: c.bound, anyZero: true }),
  }));
}

/** The arguments of a case, with arrays in the places of its inputs. */
export const argumentsOf = (c: Case): unknown => withArrays(c.args, c);

/** Arguments with the inputs in their places. */
function withArrays(value: unknown, c: Case): unknown {
  if (Array.isArray(value)) return value.map((each) => withArrays(each, c));
  if (typeof value !== 'object' || value === null) return value;
  if ('array' in value) return toLazy(c.read(c.inputs[value.array as number]!));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withArrays(each, c)]));
}
