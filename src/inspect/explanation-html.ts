/** Explanations and expressions as HTML: a table, and the graph as a picture where it is small. */
import { canonicalize } from '../fusion/passes/canonicalize.js';
import { byteLengthOf } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { formatBounded, formatBytes } from '../graph/format.js';
import { sizeOfShape } from '../graph/graph.js';
import { escaped, htmlTable } from '../host/display.js';
import type { ExplanationData } from './explanation-data.js';
import { expressionAsSvg, planAsSvg } from './graph-svg.js';

/** Nodes of graphs, and steps of plans, that are drawn; a picture of more is not to be read. */
const MOST_DRAWN = 60;

const picture = (svg: string): string => `<div style="overflow:auto">${svg}</div>`;

export function explanationAsHtml(data: ExplanationData): string {
  const { steps, edges, readings, device, deviceReason, bytesRead, bytesWritten, peakBytes } = data;
  const title = `${steps.length} steps on ${device} (${deviceReason}), ${formatBytes(bytesRead)} read, ${formatBytes(bytesWritten)} written, peak ${formatBytes(peakBytes)}`;
  const rows = steps.map(({ name, kind, lines, ...step }, k) => [
    `${k}`,
    name,
    kind,
    formatBytes(step.bytesRead),
    formatBytes(step.bytesWritten),
    lines.map((line) => line.replace(/^.*\//, '')).join(' '),
  ]);
  const between = edges.map(({ from, to, buffer, reason, bytes, advice }) => [
    `${from} → ${to}`,
    buffer,
    reason,
    formatBytes(bytes),
    advice,
  ]);
  const twice = readings.map(({ first, second, buffer, reason, bytes, advice }) => [
    `${first}, ${second}`,
    buffer,
    reason,
    formatBytes(bytes),
    advice,
  ]);
  return [
    `<div>${escaped(title)}</div>`,
    htmlTable(['step', 'name', 'kind', 'read', 'written', 'made at'], rows),
    ...(between.length === 0
      ? []
      : [htmlTable(['not fused', 'through', 'reason', 'bytes', 'advice'], between)]),
    ...(twice.length === 0
      ? []
      : [htmlTable(['read twice by', 'array', 'reason', 'bytes', 'advice'], twice)]),
    ...(steps.length <= MOST_DRAWN ? [picture(planAsSvg(data))] : []),
  ].join('\n');
}

/** The nodes of an expression, where they are few enough to be drawn. */
function isSmall(expr: Expr): boolean {
  const seen = new Set<Expr>([expr]);
  for (const node of seen) {
    if (seen.size > MOST_DRAWN) return false;
    for (const input of node.inputs) seen.add(input);
  }
  return true;
}

/** `device`: the one that holds the elements. */
export function expressionAsHtml(expr: Expr, device: string | undefined): string {
  const { dtype, shape, extent } = expr;
  const facts = htmlTable(
    ['dtype', 'shape', 'bytes', 'elements'],
    [
      [
        dtype,
        formatBounded(shape, extent?.axis),
        formatBytes(sizeOfShape(shape) * byteLengthOf(dtype)),
        device === undefined ? 'not computed yet' : `on ${device}`,
      ],
    ],
  );
  if (!isSmall(expr))
    return `<div>Lazy</div>${facts}<div>${escaped('a large graph: explain() tells of it')}</div>`;
  return `<div>Lazy</div>${facts}${picture(expressionAsSvg(canonicalize([expr]).graph))}`;
}
