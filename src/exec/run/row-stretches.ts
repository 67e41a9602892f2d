/**
 * Products of sparse matrices in blocks of rows: where a job does not fit whole, or several devices share it, the starts of
 * blocks are computed first, and the job is planned for them (`graph/row-stretches.ts`); those of arrays on devices are kept
 * (`known-starts.ts`). Such a plan is one of the matrix, not of its shape. Called by `evaluate.ts` and `compiled-graph.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { Expr } from '../../graph/expr.js';
import { type Graph, type GraphLoop, type GraphNode, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { blockRows, blockStarts, type RowLine } from '../../graph/row-stretches.js';
import { MemoryError } from '../../host/errors.js';
import type { ComputeTarget } from './compute-target.js';
import { type ExecutionSettings, execute, type Job } from './execution.js';
import { heldStarts, type StartsOf, startsOfLines } from './known-starts.js';
import type { Executed } from './run-program.js';

/** Bytes of the operands of calls in rows from which on several devices have parts of them each. */
const LEAST_SHARED = 2 ** 19;

/** An executed job, and the one that was: its plan may be for the starts of rows. */
export interface ExecutedJob {
  readonly job: Job;
  readonly executed: Executed;
  /** Whether the plan is one for all arguments of the graph: it is for no starts but those of arrays on devices. */
  readonly isOfAll: boolean;
}

/** Executes a job; in blocks of rows, where that is the way. */
export async function executeInRows(
  job: Job,
  target: ComputeTarget,
  settings: ExecutionSettings,
  startsOf: StartsOf,
): Promise<ExecutedJob> {
  const { canonical } = job;
  let refusal: MemoryError | undefined;
  if (canonical.stretched.length === 0 || !sharesRows(canonical, target))
    try {
      return { job, executed: await execute(job, target, settings), isOfAll: true };
    } catch (error) {
      if (canonical.stretched.length === 0 || !(error instanceof MemoryError)) throw error;
      refusal = error;
    }
  const found = await startsOfLines(linesOf(canonical), startsOf).catch((error: unknown) => {
    throw error instanceof MemoryError ? (refusal ?? error) : error;
  });
  const planned = inStretches(canonical, ({ starts }) => found.get(starts)!);
  const inRows = { ...job, canonical: planned };
  const isOfAll = linesOf(canonical).every((line) => heldStarts(line) !== undefined);
  return { job: inRows, executed: await execute(inRows, target, settings), isOfAll };
}

/** Whether several devices are to have parts of the operands. */
export const sharesRows = ({ graph, stretched }: Canonical, { isSharded }: ComputeTarget): boolean =>
  isSharded &&
  stretched.some(({ path }) => {
    const { inputs } = nodeOf(graph, path[0]!);
    return inputs.reduce((sum, input) => sum + bytesOf(nodeOf(graph, input)), 0) >= LEAST_SHARED;
  });

const bytesOf = ({ dtype, shape }: GraphNode): number => sizeOfShape(shape) * byteLengthOf(dtype);

const linesOf = ({ stretched }: Canonical): readonly Expr[] => [
  ...new Set(stretched.flatMap(({ lines }) => lines.map(({ starts }) => starts))),
];

/** Parameters that calls get behind their own, by the path to their node. */
type Further = readonly { readonly path: readonly number[]; readonly parameters: readonly number[] }[];

/** The graph for rows whose blocks start there. */
function inStretches(canonical: Canonical, blocksOf: (line: RowLine) => readonly number[]): Canonical {
  const { graph, sources, repeated, checks, statuses } = canonical;
  const further = canonical.stretched.map(({ path, lines }) => {
    const size = blockRows(lines[0]!.starts.shape[0]! - 1);
    return { path, parameters: [size, ...lines.flatMap(blocksOf)] };
  });
  return {
    graph: withParameters(graph, further, new Map()),
    sources,
    repeated,
    checks,
    statuses,
    fingerprint: canonical.fingerprint + textOf(further),
    stretched: [],
    get sites() {
      return canonical.sites;
    },
  };
}

const textOf = (further: Further): string =>
  further.map(({ path, parameters }) => `\n${path.join('.')}: ${parameters.join(' ')}`).join('');

/** `loops`: those that have them already. The results of a loop are nodes with one loop. */
function withParameters(graph: Graph, further: Further, loops: Map<GraphLoop, GraphLoop>): Graph {
  const nodes = [...graph.nodes];
  for (const id of new Set(further.map(({ path }) => path[0]!))) {
    const node = nodes[id];
    const own = further.filter(({ path }) => path[0] === id);
    if (node?.kind === 'call') {
      nodes[id] = { ...node, parameters: [...node.parameters, ...own[0]!.parameters] };
    } else if (node?.kind === 'loop') {
      const inBody = own.map(({ path, parameters }) => ({ path: path.slice(1), parameters }));
      const { loop } = node;
      const body = withParameters(loop.body, inBody, loops);
      const made = loops.get(loop) ?? { ...loop, body, key: loop.key + textOf(inBody) };
      loops.set(loop, made);
      nodes[id] = { ...node, loop: made };
    }
  }
  return { ...graph, nodes };
}

/** The graph for rows that all have as many elements: for plans of jobs that nobody runs. */
export const inEvenStretches = (canonical: Canonical): Canonical =>
  inStretches(canonical, ({ starts, stored }) => {
    const [blocks, rows] = [blockStarts(starts).shape[0]!, starts.shape[0]! - 1];
    const at = (block: number): number => Math.min(rows, block * blockRows(rows));
    return Array.from({ length: blocks }, (_, block) => Math.floor((stored * at(block)) / rows));
  });
