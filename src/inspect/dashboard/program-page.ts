/** The plan of a program that ran, with its kernels, as the dashboard's page draws it. Called by `server.ts`. */
import { devicePlansOf } from '../../exec/plan/phases.js';
import type { Step } from '../../exec/plan/plan.js';
import { deviceNamed } from '../../exec/targets/device.js';
import { planAsGraph } from '../draw.js';
import { explainPlan } from '../explain-steps.js';
import type { ExplainedStep } from '../explanation-data.js';
import { layeredGraph } from '../layered-graph.js';
import type { SeenProgram } from './ledger.js';
import type { PageProgram } from './state.js';

/** Plans of more steps are not drawn: explaining them would hold this thread for long. */
const MOST_STEPS = 200;
/** Sources of more kernels are not printed, for the same reason. */
const MOST_SOURCES = 24;
/** Pixels, as in `page/plan.js`. */
const BOX_WIDTH = 226;

const stepsIn = (steps: readonly Step[]): number =>
  steps.reduce((sum, step) => {
    if (step.kind === 'loop') return sum + stepsIn(step.body);
    return sum + (step.kind === 'sweep' ? stepsIn(step.body.map((part) => part.step)) : 1);
  }, 0);

export function pageProgram({ id, title, plan }: SeenProgram): PageProgram {
  const count = devicePlansOf(plan).reduce((sum, { steps }) => sum + stepsIn(steps), 0);
  const device = deviceNamed(plan.devices[0]!);
  const explained = count > MOST_STEPS ? [] : explainPlan(plan, device, count <= MOST_SOURCES);
  const results = plan.values.filter(({ role }) => role === 'output').map(({ label }) => label);
  return {
    id,
    title,
    devices: plan.devices,
    peakBytes: Math.max(0, ...plan.peakBytes),
    count: explained.length > 0 ? explained.length : count,
    steps: explained.map(({ nodes: _, lines: __, ...step }) => step),
    ...drawnGraph(explained, results),
  };
}

/** Nodes are listed after those that they read. */
const RANKS = { input: 0, step: 1, output: 2 } as const;

/** The places of a plan's nodes, in boxes of one width, and the routes of its edges. */
function drawnGraph(
  steps: readonly ExplainedStep[],
  results: readonly string[],
): Pick<PageProgram, 'nodes' | 'edges' | 'width' | 'layers'> {
  const graph = planAsGraph({ steps, results });
  const rank = (id: string): number => RANKS[graph.node(id)!.kind];
  const ids = graph.nodes().sort((a, b) => rank(a) - rank(b));
  const positions = new Map(ids.map((id, k) => [id, k]));
  const stepOf = new Map(steps.map((_, k) => [`step ${k}`, k]));
  const edges = graph.edges();
  const { width, layerCount, layers, centres, routes } = layeredGraph(
    ids.map(() => ({ width: BOX_WIDTH })),
    edges.map(({ v, w }) => ({ from: positions.get(v)!, to: positions.get(w)! })),
  );
  return {
    nodes: ids.map((id, k) => ({
      ...graph.node(id)!,
      step: stepOf.get(id),
      layer: layers[k]!,
      centre: centres[k]!,
    })),
    edges: edges.map((edge, k) => ({
      layer: layers[positions.get(edge.v)!]!,
      route: routes[k]!,
      buffer: graph.edge(edge)!,
    })),
    width,
    layers: layerCount,
  };
}
