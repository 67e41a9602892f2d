/**
 * Verify: states what a legal graph is. Tests run it after every pass; a violation is a defect of the pass.
 */
import { InternalError } from '../host/errors.js';
import { isComplex, isHalf } from './dtype.js';
import { epilogueInputs } from './epilogue.js';
import { foldReach } from './expr.js';
import {
  type Graph,
  type GraphNode,
  type GraphNodeOf,
  nodeOf,
  routineKey,
  sizeOfShape,
  topologicalOrder,
} from './graph.js';
import type { MonoidPart } from './loop-step.js';
import { opRow } from './ops.js';
import { hasPrecision } from './precision.js';
import { printNode } from './print.js';
import { reductionRow } from './reductions.js';
import { routineRow } from './routines.js';

export function verify(graph: Graph): void {
  const results = new Set<string>();
  for (const id of topologicalOrder(graph)) {
    const node = nodeOf(graph, id);
    if (node.kind === 'call' || node.kind === 'loop') {
      // Their results are stored by one step, each in one place.
      const key = `${node.result} ${node.inputs.join(' ')} ${node.kind === 'call' ? routineKey(node) : node.loop.key}`;
      if (results.has(key)) throw new InternalError(`a result that is there twice in ${printNode(node)}`);
      results.add(key);
    }
    if (node.id !== id) throw new InternalError(`node ${node.id} in the place of node ${id}`);
    const inputs = node.inputs.map((input) => nodeOf(graph, input));
    const problem = problemOf(node, inputs);
    if (problem !== undefined) throw new InternalError(`${problem} in ${printNode(node)}`);
  }
}

const broadcasts = (from: readonly number[], to: readonly number[]): boolean =>
  from.length <= to.length && from.every((n, k) => n === 1 || n === to[to.length - from.length + k]);

function problemOf(node: GraphNode, inputs: readonly GraphNode[]): string | undefined {
  if (node.shape.some((n) => !Number.isSafeInteger(n) || n < 0)) return 'bad shape';
  const [x] = inputs;
  switch (node.kind) {
    case 'source':
      return node.strides.length === node.shape.length && inputs.length === 0 ? undefined : 'bad strides';
    case 'iota':
      return node.dtype === 'int64' && node.shape.length === 1 ? undefined : 'iota is not a line of int64';
    case 'const':
      return node.shape.length === 0 ? undefined : 'constant with axes';
    case 'map': {
      const row = opRow(node.op);
      if (inputs.length !== row.arity) return 'wrong number of inputs';
      const signature = row.dtype(inputs.map((input) => input.dtype));
      if (signature === undefined) return 'dtype the op does not take';
      if (signature.args.some((dtype, k) => dtype !== inputs[k]!.dtype)) return 'input not cast';
      if (signature.result !== node.dtype) return 'wrong dtype';
      return inputs.every((input) => broadcasts(input.shape, node.shape))
        ? undefined
        : 'input does not broadcast';
    }
    case 'repeat':
      return repeatProblem(node, inputs);
    case 'function':
      return cudaProblem(node, inputs);
    case 'cast':
      return sizeOfShape(x!.shape) === sizeOfShape(node.shape) ? undefined : 'cast changes the shape';
    case 'reduce': {
      const rule = reductionRow(node.reduction).dtype(x!.dtype);
      if (node.axes.some((axis, k) => axis >= x!.shape.length || (k > 0 && axis <= node.axes[k - 1]!)))
        return 'bad axes';
      const kept = x!.shape.filter((_, axis) => !node.axes.includes(axis));
      if (kept.join() !== node.shape.join()) return 'wrong shape';
      if (node.monoid !== undefined) return monoidProblem(node.monoid, inputs);
      return rule === undefined || isHalf(node.dtype) !== isHalf(rule.result)
        ? 'dtype the reduction does not take'
        : undefined;
    }
    case 'view':
      return viewProblem(node, x!);
    case 'join':
      return joinProblem(node, inputs);
    case 'gather': {
      const [, index] = inputs;
      if (index?.dtype !== 'int64' || node.dtype !== x!.dtype) return 'wrong dtype';
      if (!(x!.shape[node.axis]! > 0)) return 'gather from an empty axis';
      const shape = [...x!.shape.slice(0, node.axis), ...index.shape, ...x!.shape.slice(node.axis + 1)];
      return shape.join() === node.shape.join() ? undefined : 'wrong shape';
    }
    case 'contract': {
      if (node.precision !== undefined && !hasPrecision(node.dtype, node.precision))
        return 'a precision that the dtype lacks';
      const sizes = new Map<number, number>();
      for (const [k, labels] of node.labels.entries()) {
        if (labels.length !== inputs[k]!.shape.length) return 'labels do not name the axes';
        for (const [axis, label] of labels.entries()) {
          const n = inputs[k]!.shape[axis]!;
          if ((sizes.get(label) ?? n) !== n) return 'label with two sizes';
          sizes.set(label, n);
        }
      }
      if (node.conjugated !== undefined && (node.library !== 'cutensor' || !isComplex(node.dtype)))
        return 'conjugates that nothing multiplies';
      if (node.output.map((label) => sizes.get(label)).join() !== node.shape.join()) return 'wrong shape';
      return epilogueProblem(node, inputs);
    }
    case 'call': {
      const wanted = routineRow(node.routine).results(inputs, node.parameters, node.kernel)[node.result];
      const isAsWanted = wanted?.dtype === node.dtype && wanted.shape.join() === node.shape.join();
      return isAsWanted ? undefined : "not the routine's result";
    }
    case 'loop':
      return loopProblem(node, inputs);
  }
}

function monoidProblem({ of: monoid, part }: MonoidPart, inputs: readonly GraphNode[]): string | undefined {
  const { dtypes } = monoid;
  if (dtypes.join() !== inputs.map(({ dtype }) => dtype).join()) return 'accumulators not as given';
  if (part >= dtypes.length) return 'a part that accumulators lack';
  const isOneShape = inputs.every(({ shape }) => shape.join() === inputs[0]!.shape.join());
  return isOneShape ? undefined : 'accumulators of several shapes';
}

function joinProblem(
  { axis, shape, dtype }: GraphNodeOf<'join'>,
  inputs: readonly GraphNode[],
): string | undefined {
  if (inputs.some((input) => input.dtype !== dtype)) return 'part of another dtype';
  const total = inputs.reduce((sum, input) => sum + input.shape[axis]!, 0);
  if (total !== shape[axis]) return 'parts that do not fill the axis';
  const agrees = ({ shape: own }: GraphNode): boolean => own.with(axis, total).join() === shape.join();
  return inputs.every(agrees) ? undefined : 'part of another shape';
}

function repeatProblem(
  { loop, result, shape, dtype }: GraphNodeOf<'repeat'>,
  inputs: readonly GraphNode[],
): string | undefined {
  if (loop.arguments.join() !== inputs.map((input) => input.dtype).join()) return 'argument not as given';
  if (dtype !== loop.arguments[result] || result >= loop.next.length) return 'not a state';
  return inputs.every((input) => broadcasts(input.shape, shape)) ? undefined : 'input does not broadcast';
}

function cudaProblem(
  { function: own, result, shape, dtype }: GraphNodeOf<'function'>,
  inputs: readonly GraphNode[],
): string | undefined {
  const wanted = own.parameters.map((parameter) => parameter.dtype);
  if (wanted.join() !== inputs.map((input) => input.dtype).join()) return 'argument not as given';
  if (dtype !== own.results[result]?.dtype) return 'not a result';
  return inputs.every((input) => broadcasts(input.shape, shape)) ? undefined : 'input does not broadcast';
}

function loopProblem(
  { loop, result, shape, dtype }: GraphNodeOf<'loop'>,
  inputs: readonly GraphNode[],
): string | undefined {
  const { body, steps, every, condition } = loop;
  const states = body.outputs.length;
  if (inputs.length < states || result >= states) return 'too few states';
  if (steps < 1 || (every !== undefined && (every < 1 || condition !== undefined))) return 'bad count';
  verify(body);
  for (const node of body.nodes) {
    if (node?.kind !== 'source') continue;
    const given = inputs[node.input];
    if (given === undefined) return 'argument that is not given';
    if (given.dtype !== node.dtype || given.shape.join() !== node.shape.join())
      return 'argument not as given';
  }
  const changes = body.outputs.some((id, k) => {
    const next = nodeOf(body, id);
    return next.dtype !== inputs[k]!.dtype || next.shape.join() !== inputs[k]!.shape.join();
  });
  if (changes) return 'state that changes its dtype or shape';
  if (condition !== undefined && (inputs[condition]?.dtype !== 'bool' || inputs[condition].shape.length > 0))
    return 'condition that is not one bool';
  const kept = every === undefined ? [] : [Math.floor(steps / every)];
  if (dtype !== inputs[result]!.dtype || shape.join() !== [...kept, ...inputs[result]!.shape].join())
    return 'wrong result';
  return undefined;
}

function viewProblem(node: GraphNode & { kind: 'view' }, x: GraphNode): string | undefined {
  const { view, shape } = node;
  if (node.dtype !== x.dtype) return 'view changes the dtype';
  switch (view.type) {
    case 'reshape':
      return sizeOfShape(shape) === sizeOfShape(x.shape) ? undefined : 'reshape to another size';
    case 'broadcast':
      return broadcasts(x.shape, shape) ? undefined : 'does not broadcast';
    case 'permute':
      return view.order.map((axis) => x.shape[axis]).join() === shape.join() ? undefined : 'wrong shape';
    case 'slice':
      return shape.every((n, k) => {
        const last = view.starts[k]! + (n - 1) * view.steps[k]!;
        return (
          n === 0 ||
          (view.starts[k]! >= 0 && view.starts[k]! < x.shape[k]! && last >= 0 && last < x.shape[k]!)
        );
      })
        ? undefined
        : 'slice out of range';
    case 'pad':
      return shape.every((n, k) => {
        const [before, after] = [view.before[k]!, n - x.shape[k]! - view.before[k]!];
        return view.fold === undefined || Math.max(before, after) <= foldReach(view.fold, x.shape[k]!);
      })
        ? undefined
        : 'bad pad';
  }
}

function epilogueProblem(node: GraphNodeOf<'contract'>, inputs: readonly GraphNode[]): string | undefined {
  const { epilogue, labels, shape, dtype } = node;
  if (inputs.length !== labels.length + (epilogue === undefined ? 0 : epilogueInputs(epilogue)))
    return 'inputs that nothing reads';
  const further = inputs.slice(labels.length);
  const wanted = [
    ...(epilogue?.beta === 0 ? [] : [shape]),
    ...(epilogue?.hasBias ? [[1, 1, shape[2]!]] : []),
  ];
  const isWrong = (input: GraphNode, k: number): boolean =>
    input.dtype !== dtype || input.shape.join() !== wanted[k]!.join();
  return further.some(isWrong) ? 'an epilogue of other shapes or dtypes' : undefined;
}
