/**
 * Costs by which devices share every loop that they can: phases take no time, a share of a step its part of the whole
 * one. The loops of tests are so small that they are sooner done on one device.
 */
import type { CostModel, DeviceModel } from '../../src/exec/plan/device-model.js';
import type * as CudaModel from '../../src/exec/targets/cuda-model.js';

const costs: Partial<CostModel> = {
  phaseSeconds: 0,
  roundSeconds: 0,
  secondsOf: (step, part) =>
    part * (step.kind === 'loop' ? Math.ceil(step.steps / step.stepsAtOnce) * step.body.length : 1),
};

/** For `vi.mock` of `cuda-model.js`. */
export async function withRoundsForNothing(
  original: () => Promise<typeof CudaModel>,
): Promise<typeof CudaModel> {
  const real = await original();
  const cudaModel: typeof real.cudaModel = (...args): DeviceModel => {
    const model = real.cudaModel(...args);
    return { ...model, costs: { ...model.costs!, ...costs } };
  };
  return { ...real, cudaModel };
}
