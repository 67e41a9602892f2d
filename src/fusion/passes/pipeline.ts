/**
 * Runs the passes over a graph, in order. Each is a function that rewrites a copy of it; a target names its
 * list.
 *
 * When changes are asked for (`explain()`, debugging, tests), immer runs each pass and its patches say what it
 * changed; otherwise the same code runs on a plain copy.
 */
import { enablePatches, Immer, type Patch } from 'immer';
import type { Graph, GraphLoop, GraphNode, MutableGraph } from '../../graph/graph.js';
import { verify } from '../../graph/verify.js';
import { completed, type Slices } from '../../host/slices.js';
import type { PathReport } from '../paths/path-report.js';
import { batchSlices } from './batch-slices.js';
import { inParts, withCpuRoutines, withoutCpuRoutines, withRoutines } from './both-ways.js';
import { compactValues } from './compact-values.js';
import type { ContractionReport, ProductChoice } from './contraction-report.js';
import { countBands } from './count-bands.js';
import { cutGathers } from './cut-gathers.js';
import { cutRoutines } from './cut-routines.js';
import { expandCuda } from './expand-cuda.js';
import { foldRolls } from './fold-rolls.js';
import { fuseAttention } from './fuse-attention.js';
import { fuseEpilogues } from './fuse-epilogues.js';
import { gatherMaps } from './gather-maps.js';
import { nestJoins } from './large-joins.js';
import { lowerContractions, type ProductTraits } from './lower-contractions.js';
import { mapWindows } from './map-windows.js';
import { mergeContractions } from './merge-contractions.js';
import { multiplyAdds } from './multiply-add.js';
import { narrowProducts } from './narrow-products.js';
import { onlineFormulas } from './online-formulas.js';
import type { Origins } from './origins.js';
import { placeAttention } from './place-attention.js';
import type { CallTraits } from './product-costs.js';
import { pushSlices } from './push-slices.js';
import { reduceTerms, reduceTermsTwice } from './reduce-terms.js';
import { simplify } from './simplify.js';
import { splitContractions } from './split-contractions.js';
import { splitJoins } from './split-joins.js';
import type { SumOrder } from './sum-orders.js';
import { unrollReductions } from './unroll-reductions.js';
import { writeRows } from './write-rows.js';

export interface Pass {
  readonly name: string;
  readonly run: (graph: MutableGraph, report?: ContractionReport) => Slices<void>;
  /** Whether floating-point results may differ by rounding; `exact: true` leaves such a pass out. */
  readonly rounds: boolean;
  /** Whether it may make loops. Those that may come first: the bodies are rewritten after them. */
  readonly makesLoops?: true;
  /** Whether it runs after all others, also after those over whole plans. */
  readonly isLast?: true;
  /** Of a pass over the bodies of loops alone: those that it is for. */
  readonly isFor?: (loop: GraphLoop) => boolean;
}

/** The passes for a target, by what its products are like, by the order of its sums, and by whether it has multiply-adds. */
export const passesWith = (
  products?: ProductTraits,
  sumOrder?: SumOrder,
  addsProducts = false,
): readonly Pass[] => [
  { name: 'simplify', run: simplify, rounds: false },
  { name: 'fuse-attention', run: fuseAttention(products?.attention), rounds: true },
  { name: 'count-bands', run: countBands, rounds: false },
  { name: 'online-formulas', run: onlineFormulas, rounds: true },
  { name: 'split-joins', run: splitJoins, rounds: false },
  { name: 'push-slices', run: pushSlices, rounds: false },
  { name: 'gather-maps', run: gatherMaps, rounds: false },
  { name: 'merge-contractions', run: mergeContractions(products?.isTurnedAlike), rounds: true },
  { name: 'lower-contractions', run: lowerContractions(products), rounds: false },
  { name: 'narrow-products', run: narrowProducts, rounds: false },
  { name: 'unroll-reductions', run: unrollReductions(sumOrder), rounds: false },
  { name: 'batch-slices', run: batchSlices(sumOrder, addsProducts), rounds: false },
  { name: 'reduce-terms', run: reduceTerms, rounds: false },
  { name: 'reduce-terms-twice', run: reduceTermsTwice, rounds: true },
  { name: 'nest-joins', run: nestJoins, rounds: false },
];

/** Runs ahead of the passes of a target without the CPU's routines. */
export const WITHOUT_CPU_ROUTINES: Pass = {
  name: 'without-cpu-routines',
  run: withoutCpuRoutines,
  rounds: false,
  makesLoops: true,
};

/** Runs ahead of those of the CPU. */
export const WITH_CPU_ROUTINES: Pass = { name: 'with-cpu-routines', run: withCpuRoutines, rounds: false };

/** Runs behind the one without the CPU's routines: distinct elements and look-ups in tables at once, where they fit. */
export const AT_ONCE: Pass = { name: 'at-once', run: withRoutines, rounds: false };

/** The passes where a library does all products that it can. */
export const PASSES: readonly Pass[] = [WITHOUT_CPU_ROUTINES, AT_ONCE, ...passesWith()];

/** Runs ahead of the passes of a target that does not run CUDA C. */
export const EXPAND_CUDA: Pass = { name: 'expand-cuda', run: expandCuda, rounds: false };

/** Runs after a target's passes over a graph that several devices share. */
export const SPLIT_CONTRACTIONS: Pass = { name: 'split-contractions', run: splitContractions, rounds: true };

/** Runs after a target's passes over a graph of which a plan holds everything at once, or tiles whose products are cut by rows. */
export const fuseEpiloguesOf = (calls: CallTraits): Pass => ({
  name: 'fuse-epilogues',
  run: fuseEpilogues(calls),
  rounds: true,
});

/** Runs after a target's passes over a graph of which a plan holds everything at once. */
export const COMPACT_VALUES: Pass = { name: 'compact-values', run: compactValues, rounds: false };

/** Another of those. */
export const PLACE_ATTENTION: Pass = { name: 'place-attention', run: placeAttention, rounds: false };

/** Runs after the passes of a target whose threads compute neighbours together. */
export const MAP_WINDOWS: Pass = { name: 'map-windows', run: mapWindows, rounds: false, isLast: true };

/** Runs ahead of that one for targets whose kernels are compiled without contraction. Other passes know sums and products. */
export const MULTIPLY_ADD: Pass = { name: 'multiply-add', run: multiplyAdds, rounds: true, isLast: true };

/** Another of those, ahead of them. */
export const FOLD_ROLLS: Pass = { name: 'fold-rolls', run: foldRolls, rounds: false };

/** Another of those, of states of so many bytes, over the bodies of some loops. */
export const writeRowsOf = (leastBytes: number, isFor: (loop: GraphLoop) => boolean): Pass => ({
  name: 'write-rows',
  run: writeRows(leastBytes),
  rounds: false,
  isFor,
});

/** Runs ahead of a target's passes where routines do not fit. */
export const CUT_ROUTINES: Pass = { name: 'cut-routines', run: cutRoutines, rounds: false };

/** Runs ahead of a target's passes where several devices share the work. */
export const IN_PARTS: Pass = { name: 'in-parts', run: inParts, rounds: false };

/** Runs ahead of that one where arrays of gathers do not fit. */
export const CUT_GATHERS: Pass = { name: 'cut-gathers', run: cutGathers, rounds: false };

/** The changes of one pass. */
export interface PassChanges {
  readonly pass: string;
  readonly rounds: boolean;
  readonly added: readonly number[];
  readonly removed: readonly number[];
  readonly changed: readonly number[];
  /** The paths of contractions of three operands and more. */
  readonly paths: readonly PathReport[];
  /** The libraries of products for which there was a choice. */
  readonly choices: readonly ProductChoice[];
}

export interface PassOptions {
  /** Leaves out the passes that may change rounding. */
  readonly exact?: boolean;
  /** The target's; without them, those where a library does all products that it can. */
  readonly passes?: readonly Pass[];
  /** The loop of which the graph is the body. */
  readonly loop?: GraphLoop;
  /** Passes over the graph itself after those, not over the bodies of its loops. */
  readonly last?: readonly Pass[];
  /** Called with what each pass changed. */
  readonly onPass?: (changes: PassChanges, graph: Graph) => void;
  /**
   * Called with which nodes of the graph that was given each node of the result computes, of the bodies of loops
   * too.
   */
  readonly origins?: Origins;
  /** Checks the graph after every pass. */
  readonly verify?: boolean;
}

enablePatches(); // for all instances of immer in the process, where it changes nothing that they do without patches
/** Our own, since graphs are not frozen, while an application's states may be. */
const immer = new Immer({ autoFreeze: false });

/** Runs the passes; the graph given is not touched. */
export const runPasses = (graph: Graph, options: PassOptions = {}): Graph =>
  completed(passesInSlices(graph, options));

/** As `runPasses`. Passes that are recorded are not cut. */
export function* passesInSlices(graph: Graph, options: PassOptions = {}): Slices<Graph> {
  const given = [...(options.passes ?? PASSES), ...(options.last ?? [])];
  const all = [
    ...given.filter((pass) => pass.isLast !== true),
    ...given.filter((pass) => pass.isLast === true),
  ];
  const { loop } = options;
  const passes = all.filter(
    ({ rounds, isFor }) =>
      !(rounds && options.exact === true) && (isFor === undefined || (loop !== undefined && isFor(loop))),
  );
  const watched = options.origins?.watch(graph);
  const listener = watched?.listener;
  const makers = passes.filter(({ makesLoops }) => makesLoops === true);
  const others = passes.filter(({ makesLoops }) => makesLoops !== true);
  const run = function* (given: Graph, some: readonly Pass[]): Slices<Graph> {
    const from = { ...given, listener };
    return options.onPass === undefined
      ? yield* runPlain(from, some, options.verify === true)
      : runRecorded(from, some, options.onPass, options.verify === true);
  };
  const made = makers.length === 0 ? graph : yield* run(graph, makers);
  const { nodes, outputs } = yield* run(withBodies(made, options), others);
  const optimized = { nodes, outputs };
  watched?.done(optimized);
  return optimized;
}

/** A graph, and the observers of its passes. */
type WatchedGraph = Graph & Pick<MutableGraph, 'listener'>;

/** The graph with the bodies of its loops rewritten. */
function withBodies(graph: Graph, { onPass: _, last: __, ...options }: PassOptions): Graph {
  const bodies = new Map<GraphLoop, GraphLoop>();
  const bodyOf = (loop: GraphLoop): GraphLoop => {
    const done = bodies.get(loop) ?? { ...loop, body: runPasses(loop.body, { ...options, loop }) };
    bodies.set(loop, done);
    return done;
  };
  if (!graph.nodes.some((node) => node?.kind === 'loop')) return graph;
  const nodes = graph.nodes.map((node): GraphNode | undefined =>
    node?.kind === 'loop' ? { ...node, loop: bodyOf(node.loop) } : node,
  );
  return { ...graph, nodes };
}

function* runPlain(graph: WatchedGraph, passes: readonly Pass[], verifies: boolean): Slices<Graph> {
  const { nodes, outputs, listener } = graph;
  const copy: MutableGraph = { nodes: nodes.slice(), outputs: outputs.slice(), listener };
  for (const pass of passes) {
    yield* pass.run(copy);
    yield;
    if (verifies) verify(copy);
  }
  return copy;
}

function runRecorded(
  graph: WatchedGraph,
  passes: readonly Pass[],
  onPass: NonNullable<PassOptions['onPass']>,
  verifies: boolean,
): Graph {
  let current = graph;
  for (const pass of passes) {
    const paths: PathReport[] = [];
    const choices: ProductChoice[] = [];
    const report: ContractionReport = {
      path: (make) => paths.push(make()),
      choice: (made) => choices.push(made),
    };
    const [next, patches] = immer.produceWithPatches(current, (draft) =>
      completed(pass.run(draft as MutableGraph, report)),
    );
    current = next;
    onPass({ ...changesOf(pass, patches), paths, choices }, current);
    if (verifies) verify(current);
  }
  return current;
}

/** Node ids by what happened to them. A pass that replaces a node adds one and removes one. */
function changesOf(pass: Pass, patches: readonly Patch[]): Omit<PassChanges, 'paths' | 'choices'> {
  const byOperation = { add: new Set<number>(), remove: new Set<number>(), replace: new Set<number>() };
  for (const { op, path, value } of patches) {
    if (path[0] !== 'nodes' || path.length < 2) continue;
    const dropped = path.length === 2 && value === undefined;
    // A node that a pass made and dropped again does not count as made.
    if (!dropped) byOperation[path.length === 2 ? op : 'replace'].add(path[1] as number);
    else if (op === 'replace') byOperation.remove.add(path[1] as number);
  }
  const list = (ids: ReadonlySet<number>): number[] => [...ids].sort((a, b) => a - b);
  return {
    pass: pass.name,
    rounds: pass.rounds,
    added: list(byOperation.add),
    removed: list(byOperation.remove),
    changed: list(byOperation.replace),
  };
}
