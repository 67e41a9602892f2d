/** Questions about the phases of a plan, and a device plan as the one phase of one device. */
import type { DevicePlan, DeviceRun, Phase, Plan, PlanValue, Step } from './plan.js';
import { stepName } from './plan.js';
import type { Destination } from './plan-graph.js';

/** All of a plan as the one phase of a device, by its position among the devices of the compute. */
export function onePhase(
  plan: DevicePlan,
  device: number,
  devices: readonly string[],
  destination: Destination,
): Plan {
  const ofRole = (role: 'input' | 'output'): number[] =>
    plan.buffers.flatMap((buffer, b) => (buffer.role === role ? [b] : []));
  const [inputs, outputs] = [ofRole('input'), ofRole('output')];
  const sources = new Map(inputs.map((b, k) => [b, plan.inputs[k]!]));
  const locations = {
    output: destination === 'device' ? 'devices' : 'host',
    spill: 'host',
    input: 'devices',
    temporary: 'devices',
    state: 'devices',
  } as const;
  return {
    devices,
    values: plan.buffers.map(
      ({ label, role, byteLength }, b): PlanValue => ({
        label,
        role: role === 'input' || role === 'output' ? role : 'temporary',
        byteLength,
        source: sources.get(b) ?? -1,
        location: locations[role],
      }),
    ),
    phases: [{ kind: 'whole', runs: [{ device, plan, inputs, outputs }], drops: [] }],
    outputs: plan.outputs.map((k) => outputs[k] ?? -1),
    peakBytes: devices.map((_, d) => (d === device ? plan.peakBytes : 0)),
    hostPeakBytes: plan.hostPeakBytes,
  };
}

/** The device plan of a plan on one device. */
export const onlyRunOf = ({ devices, phases }: Plan): DevicePlan | undefined =>
  devices.length === 1 && phases.length === 1 ? phases[0]!.runs[0]!.plan : undefined;

/** Host memory that values between phases wait in. */
export const waitingBytesOf = (values: readonly PlanValue[]): number =>
  values.reduce(
    (sum, { role, location, byteLength }) =>
      role === 'temporary' && location === 'host' ? sum + byteLength : sum,
    0,
  );

/** The last phase that reads each value. */
export const lastReadsOf = ({ phases }: Plan): Map<number, number> =>
  new Map(
    phases.flatMap(({ runs }, at) => runs.flatMap(({ inputs }) => inputs.map((b) => [b, at] as const))),
  );

/** The runs of a phase that have tiles of their own: of those that take the same ones, one. */
export const distinctRunsOf = ({ runs, parts }: Phase): readonly DeviceRun[] =>
  parts === undefined ? runs : runs.slice(0, 1);

/** The device plans of all runs with tiles of their own, in order. */
export const devicePlansOf = ({ phases }: Plan): DevicePlan[] =>
  phases.flatMap((phase) => distinctRunsOf(phase).map(({ plan }) => plan));

/** The steps of a run, those inside sweeps too. */
const stepsOf = (plan: DevicePlan): Step[] =>
  plan.steps.flatMap((step) => (step.kind === 'sweep' ? step.body.map((part) => part.step) : [step]));

const nameOf = (step: Step): string =>
  step.kind === 'finish' ? `combine of ${stepName(step)}` : stepName(step);

/** The kernels and calls of a phase, in order, each once. */
export const namesOf = ({ runs }: Phase): string[] => [
  ...new Set(runs.flatMap(({ plan }) => stepsOf(plan).map(nameOf))),
];
