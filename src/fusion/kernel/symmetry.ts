/**
 * Kernels whose values are the same with two of their axes exchanged, as those of xᵀx and of distances between all rows
 * of one array. Found by the arithmetic alone, so that the bits are the same as well: sums and products commute in
 * floating point, as do the factors of a multiply-add, and (a - b)² is (b - a)². Operands of sums depend on one of the axes at
 * most, as those that are staged in shared memory.
 */
import { formatScalar } from '../../graph/format.js';
import type { OpName } from '../../graph/ops.js';
import { RuntimeScalar } from '../../graph/runtime-scalar.js';
import { loadOf } from './algebra.js';
import { castValueOf, constantOf, opOf, reductionOf } from './arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from './kernel.js';
import { dependenciesOf } from './levels.js';

const COMMUTATIVE: ReadonlySet<OpName> = new Set(['add', 'multiply', 'termProduct']);
/** Ops of two factors and an addend. */
const MULTIPLY_ADDS: ReadonlySet<OpName | undefined> = new Set<OpName | undefined>([
  'multiplyAdd',
  'multiplySubtract',
  'subtractProduct',
]);
/** Ops that have the same bits for -x as for x. */
const EVEN: ReadonlySet<OpName> = new Set(['square', 'abs']);

type Exchange = (numbers: readonly number[]) => readonly number[];

/** An instruction of these arguments as text, its axes exchanged; undefined: of a form that is not looked into. */
function textOf(i: Instruction, args: readonly number[], exchange: Exchange): string | undefined {
  const access = loadOf(i);
  if (access !== undefined) {
    const { buffer, offset, strides, bounds, index } = access;
    if (index !== undefined || bounds.length > 0) return undefined;
    return `load ${buffer} ${offset} ${exchange(strides).join()}`;
  }
  const constant = constantOf(i);
  if (constant instanceof RuntimeScalar) return `scalar ${constant.position}`;
  if (constant !== undefined) return `const ${i.dtype} ${formatScalar(constant)}`;
  const name = opOf(i) ?? reductionOf(i) ?? (castValueOf(i) === undefined ? undefined : 'cast');
  return name === undefined || name === 'monoid' ? undefined : `${name} ${i.dtype} ${args.join()}`;
}

/** Whether an op squares a value that turns into its negative, and takes no other such. */
const isSquareOf = (op: OpName, [a, b, ...others]: readonly number[], turned: ReadonlySet<number>): boolean =>
  (op === 'multiply' || op === 'termProduct' || MULTIPLY_ADDS.has(op)) &&
  a === b &&
  !others.some((arg) => turned.has(arg));

const swapped = (numbers: readonly number[], a: number, b: number): number[] =>
  numbers.map((number, axis) => (axis === a ? numbers[b]! : axis === b ? numbers[a]! : number));

/**
 * By position, the one of the value that it is with axes `a` and `b` exchanged, where all reductions and stored values
 * stay themselves; undefined: they do not.
 */
export function mirrorOf(kernel: Kernel, a: number, b: number): number[] | undefined {
  const { tape, stores, parallel } = kernel;
  if (parallel[a] !== parallel[b]) return undefined;
  const depends = dependenciesOf(kernel);
  const isOfPair = (position: number): boolean => depends[position]![a]! && depends[position]![b]!;
  const known = new Map<string, number>();
  const mirror: number[] = [];
  /** Values that turn into their negative. */
  const turned = new Set<number>();
  for (const [position, i] of tape.entries()) {
    const text = textOf(i, argumentsOf(i), (numbers) => numbers);
    if (text === undefined) return undefined;
    if (!known.has(text)) known.set(text, position);
  }
  for (const [position, i] of tape.entries()) {
    const args = argumentsOf(i);
    const op = opOf(i);
    const isTurned = args.some((arg) => turned.has(arg));
    if (isTurned) {
      // Squares of what turns stay; all else is not looked into.
      if (op === undefined || !(EVEN.has(op) || isSquareOf(op, args, turned))) return undefined;
      if (MULTIPLY_ADDS.has(op) && mirror[args[2]!] !== args[2]) return undefined;
      mirror.push(position);
      continue;
    }
    const others = args.map((arg) => mirror[arg]!);
    const mayTurn = !args.some(isOfPair);
    const exchanged = (list: readonly number[]): number | undefined =>
      known.get(textOf(i, list, (numbers) => swapped(numbers, a, b))!);
    const found =
      exchanged(others) ??
      (MULTIPLY_ADDS.has(op) ? exchanged([others[1]!, others[0]!, others[2]!]) : undefined) ??
      (op !== undefined && mayTurn && COMMUTATIVE.has(op) ? exchanged(others.toReversed()) : undefined);
    if (found !== undefined) {
      mirror.push(found);
    } else if (op === 'subtract' && mayTurn && others[0] === args[1] && others[1] === args[0]) {
      turned.add(position);
      mirror.push(position);
    } else {
      return undefined;
    }
  }
  const isItself = (position: number): boolean => mirror[position] === position && !turned.has(position);
  const reduced = tape.flatMap((i, position) => (reductionOf(i) === undefined ? [] : [position]));
  return [...reduced, ...stores.map(({ value }) => value)].every(isItself) ? mirror : undefined;
}
