/** The agreement of two records of devices, in numbers. */
import { compareOutputs, type DeviceRecord, mustBeEqual } from './recording.js';

export interface Summary {
  readonly devices: readonly [string, string];
  readonly jobs: number;
  readonly outputs: number;
  /** Outputs that have to be equal to the bit, and are. */
  readonly exact: number;
  /** Others: equal all the same, or near, and then by how much at most. */
  readonly equalAnyway: number;
  readonly near: number;
  readonly worst: { readonly ulp: number; readonly job: string };
  readonly wrong: readonly string[];
}

export function compareRecords(a: DeviceRecord, b: DeviceRecord): Summary {
  const counts = { outputs: 0, exact: 0, equalAnyway: 0, near: 0 };
  let worst = { ulp: 0, job: '' };
  const wrong: string[] = [];
  const oneKind = kindOf(a.device) === kindOf(b.device);
  if (a.jobs.length !== b.jobs.length) wrong.push(`${a.jobs.length} and ${b.jobs.length} jobs`);
  for (const [k, { name, outputs, error }] of a.jobs.entries()) {
    const other = b.jobs[k];
    if (other?.name !== name) {
      wrong.push(`${name}: the other record has ${other?.name}`);
      continue;
    }
    if (error !== undefined || other.error !== undefined || outputs.length !== other.outputs.length)
      wrong.push(`${name}: ${error ?? 'computed'} and ${other.error ?? 'computed'}`);
    for (const [i, output] of outputs.entries()) {
      const compared = other.outputs[i];
      if (compared === undefined) continue;
      const result = compareOutputs(output, compared, oneKind);
      counts.outputs++;
      if (result.wrong !== undefined) wrong.push(`${name}, output ${i}: ${result.wrong}`);
      else if (mustBeEqual(output.exact, oneKind)) counts.exact++;
      else if (result.equal) counts.equalAnyway++;
      else counts.near++;
      if (result.ulp > worst.ulp) worst = { ulp: result.ulp, job: name };
    }
  }
  return { devices: [a.device, b.device], jobs: a.jobs.length, ...counts, worst, wrong };
}

/** `cpu` or `cuda`, of what `describeDevice` gives. */
const kindOf = (device: string): string => device.split(':')[0]!;

export function describeComparison(summary: Summary): string[] {
  const { devices, jobs, outputs, exact, equalAnyway, near, worst, wrong } = summary;
  return [
    `${devices[0]} and ${devices[1]}: ${jobs} jobs, ${outputs} outputs`,
    `${exact} equal to the bit, as they have to be`,
    `${equalAnyway} equal to the bit beside, ${near} within their bounds (at most ${worst.ulp} units in the last place${worst.job === '' ? '' : `: ${worst.job.slice(0, 80)}`})`,
    `${wrong.length} wrong`,
    ...wrong.map((what) => `  ${what}`),
  ];
}
