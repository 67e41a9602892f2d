/**
 * Loops that each element runs as often as its own values say: the values of one step, and a node for each
 * state that is left at the end.
 *
 *     while (x > 1) x *= h     →     arguments x, h:   %2 = greater %0 one   while %2   %3 = multiply %0 %1   x = %3
 *
 * A loop is plain data, which kernels hold in one instruction: a function of CUDA C, and on the CPU a list of
 * the functions of its ops, over lanes of which some have ended.
 */
import { expected, InternalError, ShapeError } from '../host/errors.js';
import { type DType, isHalf, type Scalar } from './dtype.js';
import type { Expr, ExprOf } from './expr.js';
import { formatScalar } from './format.js';
import { elementwiseOf } from './infer.js';
import type { ElementLoop, ElementStep, StepValue } from './loop-step.js';
import { opRow } from './ops.js';

/** The dtype at a position. */
export const dtypeAt = ({ arguments: own, values }: ElementStep, position: number): DType =>
  position < own.length ? own[position]! : values[position - own.length]!.dtype;

/**
 * The states after a loop, a node each. `initial` are those before, `parameters` stand for them in the condition
 * and the next states. Nodes that do not depend on these are inputs of the loop.
 */
export function elementLoop(
  initial: readonly Expr[],
  parameters: readonly Expr[],
  condition: Expr,
  next: readonly Expr[],
): Expr[] {
  const dependence = new Dependence(parameters);
  const captured = dependence.capturedBy([condition, ...next]);
  const writer = new StepWriter(parameters, captured, dependence);
  const at = writer.position(condition);
  const conditionLength = writer.values.length;
  const loop = loopOf(writer, [...parameters, ...captured], at, conditionLength, next);
  const inputs = [...initial, ...captured];
  return initial.map(({ dtype, shape, weak }, result): Expr => {
    const node: Expr = {
      kind: 'repeat',
      loop,
      result,
      dtype,
      shape,
      inputs,
      site: undefined,
      depth: 0,
      weak,
    };
    return { ...elementwiseOf('elementwise', node, inputs), weak };
  });
}

/** Some nodes as a function of `parameters`, which all others but constants depend on. */
export function elementStep(parameters: readonly Expr[], results: readonly Expr[]): ElementStep {
  const writer = new StepWriter(parameters, [], new Dependence(parameters));
  return stepOf(writer, parameters, results);
}

/** Whether a loop stands in a step. */
export const hasLoop = ({ values }: ElementStep): boolean => values.some(({ kind }) => kind === 'repeat');

/** Refuses what a loop cannot run on: elements behind the end of an axis may keep it from ending. */
export function needEnds(op: string, inputs: readonly Expr[]): void {
  if (inputs.every(({ extent }) => extent === undefined)) return;
  const hint = 'await x.persist() first: then it is a number';
  throw new ShapeError(
    expected(op, 'axes of known sizes for a loop', 'one whose size depends on data', hint),
  );
}

function loopOf(
  writer: StepWriter,
  args: readonly Expr[],
  condition: number,
  conditionLength: number,
  nextStates: readonly Expr[],
): ElementLoop {
  return loopWith(stepOf(writer, args, nextStates), condition, conditionLength);
}

function stepOf(writer: StepWriter, args: readonly Expr[], results: readonly Expr[]): ElementStep {
  const next = results.map((result) => writer.position(result));
  return stepWith(
    args.map(({ dtype }) => dtype),
    writer.values,
    next,
  );
}

/** Steps that a loop is taken to have, where its cost matters. */
const STEPS = 16;

/** Cost of a loop for an element, in additions. */
export const costOfLoop = ({ cost }: ElementLoop): number => STEPS * cost;

/** A step of some values: its cost, and its key. */
export function stepWith(
  dtypes: readonly DType[],
  values: readonly StepValue[],
  next: readonly number[],
): ElementStep {
  const cost = values.reduce((sum, value) => sum + costOfValue(value), 0);
  const key = JSON.stringify([dtypes, next, values.map(keyOf)]);
  return { arguments: dtypes, next, values, cost, key };
}

/** A step as that of a loop. */
export const loopWith = (step: ElementStep, condition: number, conditionLength: number): ElementLoop => ({
  ...step,
  condition,
  conditionLength,
  key: `${step.key} while ${condition} ${conditionLength}`,
});

function costOfValue(value: StepValue): number {
  switch (value.kind) {
    case 'map':
      return opRow(value.op).cost;
    case 'cast':
      return 1;
    case 'const':
      return 0;
    case 'repeat':
      return costOfLoop(value.loop);
    case 'function':
      return value.function.cost;
  }
}

/** A value as text, equal for equal ones. */
function keyOf(value: StepValue): string {
  return `${value.kind} ${value.dtype} ${value.args.join(' ')} ${detailOf(value)}`;
}

function detailOf(value: StepValue): string {
  switch (value.kind) {
    case 'map':
      return value.op;
    case 'cast':
      return '';
    case 'const':
      return formatScalar(value.value);
    case 'repeat':
      return `${value.result} ${value.loop.key}`;
    case 'function':
      return `${value.result} ${value.function.key}`;
  }
}

/** Which nodes depend on the parameters of a loop. */
class Dependence {
  readonly #depends = new Map<Expr, boolean>();

  constructor(parameters: readonly Expr[]) {
    for (const parameter of parameters) this.#depends.set(parameter, true);
  }

  of(node: Expr): boolean {
    let depends = this.#depends.get(node);
    if (depends === undefined) {
      depends = false;
      for (const input of node.inputs) depends = this.of(input) || depends;
      this.#depends.set(node, depends);
    }
    return depends;
  }

  /** The nodes below some that no step changes; equal constants are one. */
  capturedBy(nodes: readonly Expr[]): Expr[] {
    const found = new Map<Expr | string, Expr>();
    const seen = new Set<Expr>();
    const visit = (node: Expr): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (this.of(node)) for (const input of node.inputs) visit(input);
      else found.set(constantKey(node) ?? node, node);
    };
    for (const node of nodes) visit(node);
    return [...found.values()];
  }
}

const constantKey = (node: Expr): string | undefined =>
  node.kind === 'const' ? `${node.dtype} ${formatScalar(node.value)}` : undefined;

/** The values of a step, equal ones once. */
export class ValueList {
  readonly values: StepValue[] = [];
  readonly #count: number;
  readonly #positions = new Map<string, number>();

  /** `count`: the step's arguments, whose positions come first. */
  constructor(count: number) {
    this.#count = count;
  }

  /** The position of the value. */
  add(value: StepValue): number {
    const key = keyOf(value);
    let position = this.#positions.get(key);
    if (position === undefined) {
      position = this.#count + this.values.push(value) - 1;
      this.#positions.set(key, position);
    }
    return position;
  }
}

/** Writes nodes as the values of a step. */
class StepWriter {
  readonly #list: ValueList;
  readonly #dependence: Dependence;
  readonly #positions = new Map<Expr | string, number>();

  constructor(parameters: readonly Expr[], captured: readonly Expr[], dependence: Dependence) {
    this.#list = new ValueList(parameters.length + captured.length);
    this.#dependence = dependence;
    [...parameters, ...captured].forEach((node, k) => {
      this.#positions.set(constantKey(node) ?? node, k);
    });
  }

  get values(): readonly StepValue[] {
    return this.#list.values;
  }

  position(node: Expr): number {
    let position = this.#positions.get(this.#dependence.of(node) ? node : (constantKey(node) ?? node));
    if (position === undefined) {
      position = this.#written(
        node,
        node.inputs.map((input) => this.position(input)),
      );
      this.#positions.set(node, position);
    }
    return position;
  }

  #written(node: Expr, args: readonly number[]): number {
    const { dtype } = node;
    switch (node.kind) {
      case 'map':
        return this.#map(node, args);
      case 'cast':
        return this.#add({ kind: 'cast', dtype, args: [args[0]!] });
      case 'const':
        return this.#constant(dtype, node.value);
      case 'repeat':
        return this.#add({ kind: 'repeat', dtype, loop: node.loop, result: node.result, args });
      case 'function':
        return this.#add({ kind: 'function', dtype, function: node.function, result: node.result, args });
      default:
        throw new InternalError(`a ${node.kind} in a loop of elements`);
    }
  }

  #constant(dtype: DType, value: Scalar): number {
    const wide = isHalf(dtype) ? 'float32' : dtype;
    const position = this.#add({ kind: 'const', dtype: wide, value, args: [] });
    return wide === dtype ? position : this.#add({ kind: 'cast', dtype, args: [position] });
  }

  /** Halves are computed in float32, and each result is rounded. */
  #map({ op, dtype, inputs }: ExprOf<'map'>, args: readonly number[]): number {
    const isNarrow = inputs.some((input) => isHalf(input.dtype));
    const wide = isNarrow
      ? args.map((arg, k) =>
          isHalf(inputs[k]!.dtype) ? this.#add({ kind: 'cast', dtype: 'float32', args: [arg] }) : arg,
        )
      : args;
    if (!isHalf(dtype)) return this.#add({ kind: 'map', dtype, op, args: wide });
    const result = this.#add({ kind: 'map', dtype: 'float32', op, args: wide });
    return this.#add({ kind: 'cast', dtype, args: [result] });
  }

  #add(value: StepValue): number {
    return this.#list.add(value);
  }
}
