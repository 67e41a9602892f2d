/**
 * Groups the instructions of a walk into chains, which the CPU computes a few vectors at a time with what
 * goes from one instruction to the next in registers: a block's memory is then read and written once for all
 * of them. Each lane sees the same operations in the same order as without.
 *
 * The names of steps are those that `native/cpu/ops-chain.cpp` and `ops-math.cpp` enter into the registry.
 * Called by `tape-registers.ts`, after pairs were joined (`tape-fuse.ts`, which says why): those that stay alone
 * stay joined, others become steps again.
 */
import { affineLoadOf, isUniform } from '../../fusion/kernel/algebra.js';
import { isConstant, isReduction, opOf, reductionOf } from '../../fusion/kernel/arithmetic.js';
import { argumentsOf, type Instruction, type Kernel } from '../../fusion/kernel/kernel.js';
import type { DType } from '../../graph/dtype.js';
import { opRow } from '../../graph/ops.js';
import { InternalError } from '../../host/errors.js';
import { COMPARISONS, operandsOf, type TapeFusion } from './tape-fuse.js';
import { isOfMatrix } from './tape-matrix.js';

/**
 * Where an operand of a step lies: with a position among the chain's inputs, slots, outputs or reductions.
 */
export interface ChainOperand {
  readonly kind: 'input' | 'slot' | 'output' | 'reduction';
  readonly index: number;
}

export interface ChainStep {
  readonly name: string;
  readonly operands: readonly ChainOperand[];
}

export interface Chain {
  /** One of its values: all have its dtype and span. */
  readonly value: number;
  readonly inputs: readonly number[];
  /** Values that others need. */
  readonly outputs: readonly number[];
  readonly reductions: readonly number[];
  /** Places for values that are needed again later on in the chain. */
  readonly slots: number;
  readonly steps: readonly ChainStep[];
}

/** An item of a pass: an instruction (with those it absorbed), or a chain of them. */
export type Item =
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'chain'; readonly chain: Chain };

export const CHAIN_BINARY = ['add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum'] as const;
/** Products take up neighbours first, where lanes are reduced. */
export const CHAIN_REDUCTIONS = ['sum', 'min', 'max'] as const;
/**
 * More than these, and a chain is cut in two: its slots should stay a small part of the first-level cache.
 */
const MOST_SLOTS = 24;

const has = (list: readonly string[], name: string): boolean => list.includes(name);

/** An instruction with those it absorbed, in order. */
function expand(kernel: Kernel, fusion: TapeFusion, i: number): readonly number[] {
  const inner = argumentsOf(kernel.tape[i]!).filter((arg) => fusion.absorbed[arg]);
  return [...inner.flatMap((arg) => expand(kernel, fusion, arg)), i];
}

/** Dtype that an instruction has steps in, or undefined. */
export function stepDType(kernel: Kernel, fusion: TapeFusion, i: number): DType | undefined {
  const instruction = kernel.tape[i]!;
  const { dtype } = instruction;
  if (dtype !== 'float32' && dtype !== 'float64') return undefined;
  const are = (args: readonly number[]): boolean => args.every((arg) => kernel.tape[arg]!.dtype === dtype);
  const args = argumentsOf(instruction);
  const reduction = reductionOf(instruction);
  if (reduction !== undefined) return has(CHAIN_REDUCTIONS, reduction) && are(args) ? dtype : undefined;
  const op = opOf(instruction);
  if (op === undefined) return undefined;
  if (op === 'where') {
    const [condition, ...rest] = args;
    const compared = fusion.absorbed[condition!] && are(argumentsOf(kernel.tape[condition!]!));
    return compared && are(rest) ? dtype : undefined;
  }
  const known = opRow(op).arity === 1 || has(CHAIN_BINARY, op);
  return known && are(args) ? dtype : undefined;
}

const isComparison = (instruction: Instruction): boolean => has(COMPARISONS, opOf(instruction) ?? '');
const isChoice = (instruction: Instruction): boolean => opOf(instruction) === 'where';

/** Values that an instruction's steps take: of a choice, those that are compared come first. */
function takenBy(kernel: Kernel, i: number): readonly number[] {
  const instruction = kernel.tape[i]!;
  const args = argumentsOf(instruction);
  if (!isChoice(instruction)) return args;
  return [...argumentsOf(kernel.tape[args[0]!]!), ...args.slice(1)];
}

/** Members of a chain, in order, or one instruction by itself. */
type ChainOrValue = { readonly members: readonly number[] } | { readonly value: number };

interface Open {
  readonly values: number[];
  readonly members: number[];
}

/** Cuts a walk's values into groups such that each may be computed where its last one was. */
function groupsOf(
  kernel: Kernel,
  fusion: TapeFusion,
  values: readonly number[],
  keyOf: (i: number) => string | undefined,
): ChainOrValue[] {
  const groups: ChainOrValue[] = [];
  const open = new Map<string, Open>();
  const close = (key: string): void => {
    const { values: closed, members } = open.get(key)!;
    open.delete(key);
    if (closed.length === 1) groups.push({ value: closed[0]! });
    else groups.push({ members: depthFirst(kernel, members) });
  };
  for (const value of values) {
    const members = expand(kernel, fusion, value);
    const dtype = stepDType(kernel, fusion, value);
    const isStep =
      dtype !== undefined &&
      members.every((m) => isComparison(kernel.tape[m]!) || stepDType(kernel, fusion, m) === dtype);
    const key = isStep ? keyOf(value) : undefined;
    const taken = new Set(members.flatMap((m) => takenBy(kernel, m)));
    for (const [other, chain] of open) {
      if (other !== key && chain.members.some((m) => taken.has(m))) close(other);
    }
    if (key === undefined) {
      groups.push({ value });
      continue;
    }
    const chain = open.get(key) ?? { values: [], members: [] };
    open.set(key, chain);
    chain.values.push(value);
    chain.members.push(...members.filter((m) => m === value || !isComparison(kernel.tape[m]!)));
  }
  for (const key of [...open.keys()]) close(key);
  return groups;
}

/**
 * Members in the order in which the fewest of them have to be kept: what a value is computed from comes right
 * before it, the longest way there first.
 */
function depthFirst(kernel: Kernel, members: readonly number[]): readonly number[] {
  const inside = new Set(members);
  const argsOf = (m: number): readonly number[] => takenBy(kernel, m).filter((arg) => inside.has(arg));
  const read = new Set(members.flatMap(argsOf));
  /** Members that a value is computed from, at most: those that are shared count each time. */
  const sizes = new Map<number, number>();
  for (const m of members)
    sizes.set(
      m,
      argsOf(m).reduce((sum, arg) => sum + sizes.get(arg)!, 1),
    );
  const order: number[] = [];
  const seen = new Set<number>();
  const stack = members.filter((m) => !read.has(m)).reverse();
  while (stack.length > 0) {
    const m = stack[stack.length - 1]!;
    const waiting = [...new Set(argsOf(m))].filter((arg) => !seen.has(arg));
    if (seen.has(m) || waiting.length === 0) {
      stack.pop();
      if (!seen.has(m)) order.push(m);
      seen.add(m);
      continue;
    }
    // Of a choice, what is compared first has to come last.
    const [first] = takenBy(kernel, m);
    const last = isChoice(kernel.tape[m]!) && waiting.length > 1 ? first : undefined;
    const next = waiting.filter((arg) => arg !== last);
    stack.push(next.reduce((a, b) => (sizes.get(b)! > sizes.get(a)! ? b : a)));
  }
  return order;
}

/**
 * Writes the steps of a chain. A group of lanes goes from step to step; `kept` are values that go to a slot
 * besides.
 */
class StepWriter {
  readonly steps: ChainStep[] = [];
  readonly inputs: number[] = [];
  readonly reductions: number[] = [];
  /** Values wanted from a place: that they were not kept is found by a first try. */
  readonly wanted = new Set<number>();
  slots = 0;
  private readonly free: number[] = [];
  private readonly slotOf = new Map<number, number>();
  private group = -1;

  constructor(
    private readonly kernel: Kernel,
    members: readonly number[],
    private readonly outputs: readonly number[],
    private readonly kept: ReadonlySet<number>,
  ) {
    const inside = new Set(members);
    const lastUse = new Map<number, number>();
    members.forEach((m, at) => {
      for (const arg of takenBy(kernel, m)) lastUse.set(arg, at);
    });
    members.forEach((m, at) => {
      this.write(m, inside);
      this.keep(m);
      for (const arg of new Set(takenBy(kernel, m))) {
        const slot = this.slotOf.get(arg);
        if (slot !== undefined && lastUse.get(arg) === at) this.free.push(slot);
      }
    });
  }

  private keep(value: number): void {
    if (isReduction(this.kernel.tape[value]!)) return;
    const output = this.outputs.indexOf(value);
    if (output >= 0) this.steps.push({ name: 'save', operands: [{ kind: 'output', index: output }] });
    if (!this.kept.has(value)) return;
    const slot = this.free.pop() ?? this.slots++;
    this.slotOf.set(value, slot);
    this.steps.push({ name: 'save', operands: [{ kind: 'slot', index: slot }] });
  }

  private operandOf(value: number, inside: ReadonlySet<number>): ChainOperand {
    if (inside.has(value)) {
      this.wanted.add(value);
      return { kind: 'slot', index: this.slotOf.get(value) ?? 0 };
    }
    let index = this.inputs.indexOf(value);
    if (index < 0) index = this.inputs.push(value) - 1;
    return { kind: 'input', index };
  }

  private write(m: number, inside: ReadonlySet<number>): void {
    const instruction = this.kernel.tape[m]!;
    const [x, ...rest] = takenBy(this.kernel, m);
    const reduction = reductionOf(instruction);
    const swaps = reduction === undefined && rest.length === 1 && this.group === rest[0] && this.group !== x;
    if (!swaps && this.group !== x) this.steps.push({ name: 'load', operands: [this.operandOf(x!, inside)] });
    if (reduction !== undefined) {
      const index = this.reductions.push(m) - 1;
      this.steps.push({ name: `reduce.${reduction}`, operands: [{ kind: 'reduction', index }] });
      this.group = x!;
      return;
    }
    const operands = (swaps ? [x!] : rest).map((value) => this.operandOf(value, inside));
    this.steps.push({ name: this.nameOf(instruction, swaps), operands });
    this.group = m;
  }

  private nameOf(instruction: Instruction, swaps: boolean): string {
    const op = opOf(instruction);
    if (op === undefined) throw new InternalError('[tape] a step of a chain that is no op');
    const args = argumentsOf(instruction);
    if (op === 'where') return `where.${opOf(this.kernel.tape[args[0]!]!)}`;
    return args.length === 1 ? op : `${op}.${swaps ? 1 : 0}`;
  }
}

function chainOf(
  kernel: Kernel,
  members: readonly number[],
  outputs: readonly number[],
  isStreamed: (i: number) => boolean,
): Chain {
  const { wanted } = new StepWriter(kernel, members, outputs, new Set());
  const { steps, inputs, reductions, slots } = new StepWriter(kernel, members, outputs, wanted);
  const first = members[0]!;
  const value = isReduction(kernel.tape[first]!) ? argumentsOf(kernel.tape[first]!)[0]! : first;
  const prefetches = inputs.flatMap((input, index): ChainStep[] =>
    isStreamed(input) ? [{ name: 'prefetch', operands: [{ kind: 'input', index }] }] : [],
  );
  return { value, inputs, outputs, reductions, slots, steps: [...prefetches, ...steps] };
}

/** Values in memory that compiled code of a chain has pointers for (`kMostPointers` of `jit/chain-code.h`). */
const MOST_POINTERS = 11;

/**
 * Chains of a map of a matrix that read and write more values in memory than compiled code has pointers for, cut between
 * results: undefined where a part would have too many as well.
 */
function cutByPointers(
  kernel: Kernel,
  members: readonly number[],
  isStored: (i: number) => boolean,
): (readonly number[])[] | undefined {
  const isMoving = (i: number): boolean => {
    const read = affineLoadOf(kernel.tape[i]!);
    return !isConstant(kernel.tape[i]!) && (read === undefined || !isUniform(read));
  };
  const pointersOf = (part: readonly number[]): number => {
    const inside = new Set(part);
    const read = new Set(
      part.flatMap((m) => takenBy(kernel, m)).filter((i) => !inside.has(i) && isMoving(i)),
    );
    return read.size + part.filter(isStored).length;
  };
  if (pointersOf(members) <= MOST_POINTERS) return undefined;
  const parts: number[][] = [];
  let open: number[] = [];
  let piece: number[] = [];
  for (const m of members) {
    piece.push(m);
    if (!isStored(m)) continue;
    if (open.length > 0 && pointersOf([...open, ...piece]) > MOST_POINTERS) {
      parts.push(open);
      open = [];
    }
    open.push(...piece);
    piece = [];
  }
  parts.push([...open, ...piece]);
  return parts.every((part) => pointersOf(part) <= MOST_POINTERS) ? parts : undefined;
}

/** Cuts what has too many slots in two, again and again. */
function bounded(kernel: Kernel, group: ChainOrValue, isStored: (i: number) => boolean): ChainOrValue[] {
  if ('value' in group || group.members.length < 2) return [group];
  if (chainOf(kernel, group.members, [], () => false).slots <= MOST_SLOTS) {
    const parts = isOfMatrix(kernel) ? cutByPointers(kernel, group.members, isStored) : undefined;
    return parts?.map((members) => ({ members })) ?? [group];
  }
  const half = group.members.length >> 1;
  const parts = [group.members.slice(0, half), group.members.slice(half)];
  return parts.flatMap((members) => bounded(kernel, { members }, isStored));
}

/**
 * The items of each of several walks whose values outlive them. `keyOf` names what instructions of a chain
 * have in common; those without a name stay alone. `isStored`: whether a value is stored in one of the walks;
 * `isStreamed`: whether it is read from a buffer in the order in which it lies there.
 */
export function chainWalks(
  kernel: Kernel,
  fusion: TapeFusion,
  walks: readonly (readonly number[])[],
  keyOf: (i: number) => string | undefined,
  isStored: (i: number) => boolean,
  isStreamed: (i: number) => boolean,
): Item[][] {
  const grouped = walks.map((values) =>
    groupsOf(kernel, fusion, values, keyOf).flatMap((group) => bounded(kernel, group, isStored)),
  );
  // Readers of each value outside of the chain.
  const readers = new Map<number, Set<ChainOrValue>>();
  for (const group of grouped.flat()) {
    const taken =
      'members' in group
        ? group.members.flatMap((m) => takenBy(kernel, m))
        : operandsOf(kernel, fusion, group.value);
    for (const value of taken) {
      const known = readers.get(value) ?? new Set();
      readers.set(value, known.add(group));
    }
  }
  const itemOf = (group: ChainOrValue): Item => {
    if ('value' in group) return { kind: 'value', value: group.value };
    const isOutput = (m: number): boolean =>
      !isReduction(kernel.tape[m]!) &&
      (isStored(m) || [...(readers.get(m) ?? [])].some((reader) => reader !== group));
    return {
      kind: 'chain',
      chain: chainOf(kernel, group.members, group.members.filter(isOutput), isStreamed),
    };
  };
  return grouped.map((groups) => groups.map(itemOf));
}
