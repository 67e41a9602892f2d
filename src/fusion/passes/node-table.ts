/**
 * NodeTable: finds the node that has a given content: equal data, inputs, dtype and shape are equal values.
 * Nodes are compared as records of integers (`records.ts`). Called by `graph-building.ts` and `rewrite.ts`.
 */

import { dtypeCode } from '../../graph/dtype.js';
import type { Epilogue } from '../../graph/epilogue.js';
import type { NodeBase, View } from '../../graph/expr.js';
import type { GraphNodeData } from '../../graph/graph.js';
import { RuntimeScalar } from '../../graph/runtime-scalar.js';
import { unreachable } from '../../host/errors.js';
import { numberOf } from './hash.js';
import { RecordTable } from './record-table.js';
import type { Records } from './records.js';

/** A node but for its id. */
export type NodeContent = GraphNodeData & NodeBase & { readonly inputs: readonly number[] };

export class NodeTable {
  readonly #table = new RecordTable();
  /** Of the nodes that differ, in the order in which they were entered. */
  readonly records = this.#table.records;
  /** By number of the record. */
  readonly #ids: number[] = [];

  /** The id that `node` was entered with, or `id`, under which it is entered then. */
  enter(node: NodeContent, id: number): number {
    this.records.open();
    writeNode(this.records, node);
    const at = this.#table.close();
    if (at === this.#ids.length) this.#ids.push(id);
    return this.#ids[at]!;
  }
}

/** Lists stand behind their lengths, choices behind their numbers: no record is the beginning of another. */
function writeNode(to: Records, node: NodeContent): void {
  writeData(to, node);
  to.put(dtypeCode(node.dtype));
  to.putAll(node.inputs);
  to.putAll(node.shape);
}

/** All of a node but its inputs, dtype and shape. */
export function writeData(to: Records, node: GraphNodeData): void {
  to.put(numberOf(node.kind));
  switch (node.kind) {
    case 'source':
      to.put(node.input);
      to.putNumber(node.offset);
      to.putAll(node.strides);
      break;
    case 'iota':
    case 'cast':
      break;
    case 'const':
      if (node.value instanceof RuntimeScalar) {
        to.put(0); // no literal begins so
        to.put(node.value.position);
      } else to.putScalar(node.value);
      break;
    case 'map':
      to.put(numberOf(node.op));
      break;
    case 'reduce':
      to.put(
        numberOf(node.monoid === undefined ? node.reduction : `${node.monoid.part} ${node.monoid.of.key}`),
      );
      to.putAll(node.axes);
      if (node.unrolled === true) to.put(numberOf('unrolled'));
      if (node.together === true) to.put(numberOf('together'));
      to.put(node.batch ?? 1);
      break;
    case 'view':
      writeView(to, node.view);
      break;
    case 'join':
      to.put(node.axis);
      break;
    case 'gather':
      to.put(node.axis);
      to.put(numberOf(node.mode));
      break;
    case 'contract':
      to.put(node.labels.length);
      for (const labels of node.labels) to.putAll(labels);
      to.putAll(node.output);
      to.put(node.precision === undefined ? 0 : numberOf(node.precision));
      to.putNumber(node.memoryLimit ?? -1);
      to.put(node.library === undefined ? 0 : numberOf(node.library));
      to.putAll(node.conjugated ?? []);
      if (node.epilogue !== undefined) writeEpilogue(to, node.epilogue);
      break;
    case 'call':
      to.putText(node.routine);
      to.putAll(node.parameters);
      to.put(node.result);
      if (node.kernel !== undefined) to.putText(node.kernel.key);
      if (node.valueMap !== undefined) to.putText(node.valueMap.key);
      break;
    case 'repeat':
    case 'loop':
      to.putText(node.loop.key);
      to.put(node.result);
      break;
    case 'function':
      to.putText(node.function.key);
      to.put(node.result);
      break;
    default:
      unreachable(node);
  }
}

function writeEpilogue(to: Records, { alpha, beta, hasBias, activation }: Epilogue): void {
  to.putNumber(alpha);
  to.putNumber(beta);
  to.put(hasBias ? 1 : 0);
  to.put(activation === undefined ? 0 : numberOf(activation));
}

function writeView(to: Records, view: View): void {
  to.put(numberOf(view.type));
  switch (view.type) {
    case 'reshape':
    case 'broadcast':
      break;
    case 'permute':
      to.putAll(view.order);
      break;
    case 'slice':
      to.putAll(view.starts);
      to.putAll(view.steps);
      break;
    case 'pad':
      to.putAll(view.before);
      to.put(view.fold === undefined ? 0 : numberOf(view.fold));
      break;
    default:
      unreachable(view);
  }
}
