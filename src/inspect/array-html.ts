/**
 * Arrays as HTML: dtype and shape above a table of the elements, shortened where NumPy shortens them. Of more than two
 * axes there is a table for each matrix. Called by `NDArray`.
 */
import type { Shape } from '../graph/expr.js';
import { formatShape } from '../graph/format.js';
import { escaped, htmlTable } from '../host/display.js';
import { elementFormatter, type Printable, printArray, printedIndices } from '../host/print-array.js';

const SCROLLED = '<div style="overflow:auto;max-height:32em">';

export function arrayAsHtml(array: Printable): string {
  const { dtype, shape } = array;
  const title = `<div><code>${escaped(`${dtype} ${formatShape(shape)}`)}</code></div>`;
  if (shape.length === 0 || shape.includes(0)) return `${title}<pre>${escaped(printArray(array))}</pre>`;
  const format = elementFormatter(array);
  const cell = (index: readonly number[]): string => format(array.read(index)).trim();
  return `${title}${SCROLLED}${tablesOf(shape, shape, [], cell)}</div>`;
}

/** Tables of the matrices, or of the line, behind an index. */
function tablesOf(
  all: Shape,
  rest: Shape,
  index: readonly number[],
  cell: (index: readonly number[]) => string,
): string {
  if (rest.length > 2) {
    const [, ...inner] = rest;
    return printedIndices(all, index.length)
      .map((k) => (k === null ? '<div>…</div>' : tablesOf(all, inner, [...index, k], cell)))
      .join('');
  }
  const columns = printedIndices(all, all.length - 1);
  const cells = (row: readonly number[]): string[] =>
    columns.map((k) => (k === null ? '…' : cell([...row, k])));
  const header = ['', ...columns.map((k) => (k === null ? '…' : `${k}`))];
  if (rest.length === 1) return htmlTable(header, [['', ...cells(index)]], 'right');
  const rows = printedIndices(all, index.length).map((k) =>
    k === null ? ['⋮', ...columns.map(() => '⋮')] : [`${k}`, ...cells([...index, k])],
  );
  const title = index.length === 0 ? '' : `<div>[${[...index, ':', ':'].join(', ')}]</div>`;
  return `${title}${htmlTable(header, rows, 'right')}`;
}
