/**
 * Products of sparse matrices in blocks of rows: where a job does not fit whole, or several devices share it, the starts of
 * blocks are computed first, and the job is planned for them (`graph/row-stretches.ts`); those of arrays on devices are kept
 * (`known-starts.ts`). Such a plan is one of the matrix, not of its shape. Called by `evaluate.ts` and `compiled-graph.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { byteLengthOf } from '../../graph/dtype.js';
import type { Expr } from '../../graph/expr.js';
import { type Graph, type GraphLoop, type GraphNode, nodeOf, sizeOfShape } from '../../graph/graph.js';
import { blockParameters, type RowLine } from '../../graph/row-lines.js';
import { type RowReach, reachOf } from '../../graph/row-reach.js';
import { blockRows, blockStarts } from '../../graph/row-stretches.js';
import { MemoryError } from '../../host/errors.js';
import type { ComputeTarget } from './compute-target.js';
import { type ExecutionSettings, execute, type Job } from './execution.js';
import { findNumbers, findStarts, heldStarts, type NumbersAhead } from './known-starts.js';
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
  ahead: NumbersAhead,
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
  const orRefusal = (error: unknown): never => {
    throw error instanceof MemoryError ? (refusal ?? error) : error;
  };
  await findStarts(linesOf(canonical), ahead).catch(orRefusal);
  const isOfAll = linesOf(canonical).every((line) => heldStarts(line) !== undefined);
  const executeFor = async (numbersOf: NumbersOf, isOfMatrix: boolean): Promise<ExecutedJob> => {
    const inRows = { ...job, canonical: inStretches(canonical, numbersOf) };
    return {
      job: inRows,
      executed: await execute(inRows, target, settings),
      isOfAll: isOfAll && !isOfMatrix,
    };
  };
  const numbersOf = (line: Expr): readonly number[] => ahead.found.get(line)!;
  const blocksOf = ({ starts }: RowLine): readonly number[] => numbersOf(blockStarts(starts));
  const reaches = reachesOf(canonical);
  try {
    return await executeFor({ blocksOf }, false);
  } catch (error) {
    if (reaches.length === 0 || !(error instanceof MemoryError)) throw error;
    refusal = error;
  }
  await findNumbers(reaches, ahead).catch(orRefusal);
  return executeFor({ blocksOf, reachOf: numbersOf }, true);
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

/** Which rows of second matrices blocks of rows read, to compute. */
const reachesOf = ({ stretched }: Canonical): readonly Expr[] => [
  ...new Set(stretched.flatMap(({ reach }) => (reach === undefined ? [] : [reachLine(reach)]))),
];

const reachLine = (reach: RowReach): Expr => reachOf(reach, blockRows(reach.starts.shape[0]! - 1));

/** The numbers of lines of starts and, where second matrices do not fit, of their rows that blocks read. */
interface NumbersOf {
  readonly blocksOf: (line: RowLine) => readonly number[];
  readonly reachOf?: (line: Expr, reach: RowReach) => readonly number[];
}

/** Parameters that calls get behind their own, by the path to their node. */
type Further = readonly { readonly path: readonly number[]; readonly parameters: readonly number[] }[];

/** The graph for rows whose blocks start there. */
function inStretches(canonical: Canonical, { blocksOf, reachOf: rowsOf }: NumbersOf): Canonical {
  const { graph, sources, scalars, repeated, checks, statuses } = canonical;
  const further = canonical.stretched.map(({ path, lines, reach }) => {
    const size = blockRows(lines[0]!.starts.shape[0]! - 1);
    const rows = (reach && rowsOf?.(reachLine(reach), reach)) ?? [];
    return { path, parameters: blockParameters(size, lines.map(blocksOf), rows) };
  });
  return {
    graph: withParameters(graph, further, new Map()),
    sources,
    scalars,
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
  inStretches(canonical, { blocksOf: evenStarts });

/** The same where blocks read as many rows of second matrices one after the other; undefined: there are none. */
export const inEvenReach = (canonical: Canonical): Canonical | undefined =>
  reachesOf(canonical).length === 0
    ? undefined
    : inStretches(canonical, { blocksOf: evenStarts, reachOf: evenReach });

function evenStarts({ starts, stored }: RowLine): number[] {
  const [blocks, rows] = [blockStarts(starts).shape[0]!, starts.shape[0]! - 1];
  const at = (block: number): number => Math.min(rows, block * blockRows(rows));
  return Array.from({ length: blocks }, (_, block) => Math.floor((stored * at(block)) / rows));
}

function evenReach({ shape }: Expr, { others, stored }: RowReach): number[] {
  const count = shape[0]! / 4;
  const rows = others.shape[0]! - 1;
  const blocks = Array.from({ length: count }, (_, block) => block);
  const first = blocks.map((block) => Math.floor((rows * block) / count));
  const end = blocks.map((block) => Math.ceil((rows * (block + 1)) / count));
  return [
    first,
    end,
    ...[first, end].map((line) => line.map((row) => Math.floor((stored * row) / rows))),
  ].flat();
}
