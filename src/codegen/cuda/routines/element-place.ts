/** How a routine says where an element is that an element function computes, and the coordinates that it has there. */
import { product } from '../../../fusion/kernel/kernel.js';
import { printCoordinates } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import type { Writer } from '../writer.js';

export interface ElementPlace {
  /** Parameters of the function. */
  readonly parameters: string;
  /** Prints the coordinates in a box (outermost first) and returns their names. */
  readonly coordinates: (out: Writer, params: Parameters, box: readonly number[]) => string[];
}

function coordinatesOf(out: Writer, params: Parameters, box: readonly number[], at: string): string[] {
  out.line(`const ${params.index} i = (${params.index})${at};`);
  return printCoordinates(out, params, 'i', box, 'x');
}

/** By a linear index. */
export const LINEAR_PLACE: ElementPlace = {
  parameters: 'long long at',
  coordinates: (out, params, box) => coordinatesOf(out, params, box, 'at'),
};

const MATRIX_AXES = ['batch', 'row', 'column'] as const;

/**
 * By batch, row and column of matrices of such sizes: axes of a box that are these, or several of them merged, need no
 * division, and those that `batch` is made of divide what a block has one of.
 */
export const matrixPlace = (batch: number, rows: number, columns: number): ElementPlace => ({
  parameters: 'long long batch, int row, int column',
  coordinates: (out, params, box) => {
    const sizes = [batch, rows, columns];
    if (!isSplitAlike(sizes, box)) {
      const at = `((batch * ${params.size(rows)} + row) * ${params.size(columns)} + column)`;
      return coordinatesOf(out, params, box, at);
    }
    const spans = spansOf(sizes);
    return spansOf(box).map((span, axis) => {
      const terms = spans.flatMap((own, k) => partOf(out, params, own, span, MATRIX_AXES[k]!, `x${axis}`));
      return terms.length === 0 ? '0' : terms.length === 1 ? terms[0]! : `(${terms.join(' + ')})`;
    });
  },
});

/** The linear indices from one coordinate of an axis to the next, and in all of the axis. */
interface Span {
  readonly step: number;
  readonly end: number;
}

const spansOf = (sizes: readonly number[]): Span[] =>
  sizes.map((size, axis) => {
    const step = product(sizes.slice(axis + 1));
    return { step, end: step * size };
  });

/** Whether of any two steps of two boxes one is a multiple of the other. */
function isSplitAlike(sizes: readonly number[], others: readonly number[]): boolean {
  const steps = [...spansOf(sizes), ...spansOf(others)].flatMap(({ step, end }) => [step, end]);
  steps.sort((a, b) => a - b);
  return steps.every((step, k) => step > 0 && (k === 0 || step % steps[k - 1]! === 0));
}

/** The part of a coordinate of `span` that the coordinate `name` of another box gives: none or one term. */
function partOf(
  out: Writer,
  params: Parameters,
  own: Span,
  span: Span,
  name: string,
  prefix: string,
): string[] {
  const [from, to] = [Math.max(own.step, span.step), Math.min(own.end, span.end)];
  if (from >= to) return [];
  const { index, unsigned } = params;
  const divided = (text: string, by: number): string => {
    const { magic, shift } = params.divisor(by);
    return `(${index})weft_divide((${unsigned})${text}, ${magic}, ${shift})`;
  };
  let part = `(${index})${name}`;
  if (from > own.step) {
    out.line(`const ${index} ${prefix}_${name} = ${divided(part, from / own.step)};`);
    part = `${prefix}_${name}`;
  }
  if (to < own.end) {
    const size = to / from;
    out.line(
      `const ${index} ${prefix}_r_${name} = ${part} - ${divided(`(${part})`, size)} * ${params.size(size)};`,
    );
    part = `${prefix}_r_${name}`;
  }
  return [from === span.step ? part : `${part} * ${params.size(from / span.step)}`];
}
