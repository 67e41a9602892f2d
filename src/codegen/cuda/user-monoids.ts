/**
 * Monoids of the user's own in CUDA C: a struct of an accumulator's numbers, and a device function that combines two,
 * the earlier one first. Kernels take them as they do the reductions of the table (`monoids.ts`).
 */
import { createHash } from 'node:crypto';
import { CUDA_TYPE } from '../../graph/cuda-expressions.js';
import { dtypeAt } from '../../graph/element-loop.js';
import type { UserMonoid } from '../../graph/loop-step.js';
import { printStepValues } from './element-loops.js';
import { scalarLiteral } from './literals.js';
import type { Monoid } from './monoids.js';
import { Writer } from './writer.js';

/** Its name follows from what it does, so that equal ones are one. */
const nameOf = ({ key }: UserMonoid): string =>
  `weft_monoid_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;

/** A user's monoid, as reductions take it. */
export function userMonoid(monoid: UserMonoid): Monoid {
  const type = nameOf(monoid);
  const { dtypes, identity } = monoid;
  const combine = (a: string, b: string): string => `${type}_of(${a}, ${b})`;
  const lift = (args: readonly string[]): string => `${type}{${args.join(', ')}}`;
  return {
    components: dtypes,
    type,
    identity: lift(identity.map((value, k) => scalarLiteral(dtypes[k]!, value))),
    lift,
    push: (accumulator, args) => combine(accumulator, lift(args)),
    combine,
    finish: (accumulator, part) => `${accumulator}.s${part}`,
    chunked: false,
    isOrdered: true,
  };
}

/** Definitions of some monoids, each once. */
export function monoidFunctions(monoids: Iterable<UserMonoid>): string {
  const made = new Map<string, string>();
  for (const monoid of monoids) {
    const name = nameOf(monoid);
    if (!made.has(name)) made.set(name, define(monoid, name));
  }
  return [...made.values()].join('');
}

function define({ dtypes, combine }: UserMonoid, name: string): string {
  const out = new Writer();
  out.line(`struct ${name} { ${dtypes.map((dtype, k) => `${CUDA_TYPE[dtype]} s${k};`).join(' ')} };`);
  out.block(`__device__ __forceinline__ ${name} ${name}_of(const ${name} a, const ${name} b)`, () => {
    combine.arguments.forEach((_, k) => {
      const from = k < dtypes.length ? `a.s${k}` : `b.s${k - dtypes.length}`;
      out.line(`const ${CUDA_TYPE[dtypeAt(combine, k)]} v${k} = ${from};`);
    });
    printStepValues(out, combine, 0, combine.values.length);
    out.line(`return {${combine.next.map((at) => `v${at}`).join(', ')}};`);
  });
  return `${out.toString()}\n`;
}
