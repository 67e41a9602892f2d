/**
 * Panels: a value that a step makes and others read once is not stored as a whole. A panel of it, so small that it stays in the
 * cache of the device, is computed into memory that the next panel uses again, and the steps that read it follow at once. So pass
 * products that are reduced (`product-panels.ts`), and values of kernels that kernels read, as stencils of stencils
 * do (`neighbour-panels.ts`).
 *
 * That is a sweep whose inputs and results are on the device as a whole, so that a panel has the bits of the whole as
 * any tile has; the size of panels depends on the steps alone, not on a budget. Called by `device-planner.ts`.
 */
import type { Slices } from '../../host/slices.js';
import type { DeviceModel, PanelModel } from '../plan/device-model.js';
import type { DevicePlan } from '../plan/plan.js';
import type { StepList } from '../plan/step-list.js';
import { NeighbourPanels } from './neighbour-panels.js';
import { PanelPlan } from './panel-plan.js';
import { ProductPanels } from './product-panels.js';

/**
 * The plan with panels; undefined: no value can be computed so, or is better, `isNeeded`: it is worth any
 * time.
 */
export function* planWithPanels(
  stepList: StepList,
  model: DeviceModel,
  isNeeded: boolean,
): Slices<DevicePlan | undefined> {
  const { sweeps, panels } = model;
  if (sweeps === undefined || panels === undefined || !hasLarge(stepList, panels)) return undefined;
  const plan = new PanelPlan(stepList, model, isNeeded);
  const products = new ProductPanels(plan, panels);
  const neighbours = panels.neighbours && new NeighbourPanels(plan, panels.neighbours);
  for (const step of stepList.steps) {
    if (step.kind === 'call') yield;
    const isProduct = yield* products.look(step);
    if (!isProduct && neighbours !== undefined) yield* neighbours.look(step);
  }
  return yield* plan.plan();
}

/** Whether there is a value that may pass through memory in panels. */
const hasLarge = ({ buffers }: StepList, { leastBytes, neighbours }: PanelModel): boolean => {
  const least = Math.min(leastBytes, neighbours?.leastBytes ?? leastBytes);
  return buffers.some(({ role, byteLength }) => role === 'temporary' && byteLength >= least);
};
