/**
 * Recognizes comparisons of row and column numbers that keep the first columns of each row:
 *
 *     arange(m)[:, None] + 3 >= arange(n)   →   3: row i has columns up to i + 3
 *
 * Called by `score-map.ts`.
 */
import { specialized } from '../../graph/runtime-scalar.js';
import type { Editor } from './rewrite.js';

/** row · i + column · j + constant, of integers. */
interface Affine {
  readonly row: number;
  readonly column: number;
  readonly constant: number;
}

/** The offset of the last column that a condition keeps in row 0, or that it keeps where it does not hold. */
export interface Causal {
  readonly offset: number;
  readonly holds: boolean;
}

export function causalForm(id: number, editor: Pick<Editor, 'node'>): Causal | undefined {
  const node = editor.node(id);
  if (node.kind === 'map' && node.op === 'logicalNot') {
    const inner = causalForm(node.inputs[0]!, editor);
    return inner && { ...inner, holds: !inner.holds };
  }
  if (node.kind === 'view' && node.view.type === 'broadcast') return causalForm(node.inputs[0]!, editor);
  if (node.kind !== 'map' || node.inputs.length !== 2 || node.shape.length < 2) return undefined;
  const [a, b] = node.inputs.map((input) => affineOf(input, editor));
  if (a === undefined || b === undefined) return undefined;
  // row · i + column · j + constant >= 0, or where the comparison is the other way round, of the negative.
  const [left, right, strict] = sidesOf(node.op, a, b) ?? [];
  if (left === undefined || right === undefined) return undefined;
  const row = left.row - right.row;
  const column = left.column - right.column;
  const constant = left.constant - right.constant - (strict === true ? 1 : 0);
  if (row === 1 && column === -1) return { offset: constant, holds: true };
  // j - i + constant >= 0 does not hold up to j = i - constant - 1.
  return row === -1 && column === 1 ? { offset: -constant - 1, holds: false } : undefined;
}

/** The sides of left >= right, or left > right. */
function sidesOf(op: string, a: Affine, b: Affine): readonly [Affine, Affine, boolean] | undefined {
  switch (op) {
    case 'greaterEqual':
      return [a, b, false];
    case 'greater':
      return [a, b, true];
    case 'lessEqual':
      return [b, a, false];
    case 'less':
      return [b, a, true];
    default:
      return undefined;
  }
}

/** The greatest number that every dtype of indices has, and that float32 counts up to. */
const MOST = 2 ** 24;

function affineOf(id: number, editor: Pick<Editor, 'node'>): Affine | undefined {
  const node = editor.node(id);
  switch (node.kind) {
    case 'const': {
      const given = specialized(node.value);
      const value = Number(typeof given === 'object' ? Number.NaN : given);
      return Number.isInteger(value) && Math.abs(value) < MOST
        ? { row: 0, column: 0, constant: value }
        : undefined;
    }
    case 'cast':
      return ['int64', 'int32', 'float64', 'float32'].includes(node.dtype)
        ? affineOf(node.inputs[0]!, editor)
        : undefined;
    case 'iota':
      return node.shape[0]! < MOST ? { row: 0, column: 1, constant: 0 } : undefined;
    case 'view':
      return viewed(node.id, editor);
    case 'map': {
      if (node.op !== 'add' && node.op !== 'subtract') return undefined;
      const [a, b] = node.inputs.map((input) => affineOf(input, editor));
      if (a === undefined || b === undefined) return undefined;
      const sign = node.op === 'add' ? 1 : -1;
      return {
        row: a.row + sign * b.row,
        column: a.column + sign * b.column,
        constant: a.constant + sign * b.constant,
      };
    }
    default:
      return undefined;
  }
}

/** A line of numbers as a column or a row, or something broadcast. */
function viewed(id: number, editor: Pick<Editor, 'node'>): Affine | undefined {
  const node = editor.node(id);
  if (node.kind !== 'view') return undefined;
  const inner = affineOf(node.inputs[0]!, editor);
  if (inner === undefined) return undefined;
  const from = editor.node(node.inputs[0]!).shape;
  if (node.view.type === 'broadcast') return inner;
  if (node.view.type !== 'reshape' || from.length !== 1 || inner.row !== 0) return undefined;
  const [size] = from as readonly [number];
  const { length } = node.shape;
  if (node.shape[length - 1] === size && size > 1) return inner;
  // Of one element all numbers are those of the first one.
  if (length >= 2 && node.shape[length - 2] === size && size > 1)
    return { row: inner.column, column: 0, constant: inner.constant };
  return size === 1 ? { row: 0, column: 0, constant: inner.constant } : undefined;
}
