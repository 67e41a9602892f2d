/** The plan of a program that ran, with its kernels, as the dashboard's page draws it. Called by `server.ts`. */
import { devicePlansOf } from '../../exec/plan/phases.js';
import type { Step } from '../../exec/plan/plan.js';
import { deviceNamed } from '../../exec/targets/device.js';
import { planAsGraph } from '../draw.js';
import { explainPlan } from '../explain-steps.js';
import type { SeenProgram } from './ledger.js';
import type { PageProgram } from './state.js';

/** Plans of more steps are not drawn: explaining them would hold this thread for long. */
const MOST_STEPS = 200;
/** Sources of more kernels are not printed, for the same reason. */
const MOST_SOURCES = 24;

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
  const graph = planAsGraph({ steps: explained, results });
  const positions = new Map(explained.map((_, k) => [`step ${k}`, k]));
  return {
    id,
    title,
    devices: plan.devices,
    peakBytes: Math.max(0, ...plan.peakBytes),
    count: explained.length > 0 ? explained.length : count,
    steps: explained.map(({ nodes: _, lines: __, ...step }) => step),
    nodes: graph.nodes().map((node) => ({ id: node, ...graph.node(node)!, step: positions.get(node) })),
    edges: graph.edges().map((edge) => ({ from: edge.v, to: edge.w, buffer: graph.edge(edge)! })),
  };
}
