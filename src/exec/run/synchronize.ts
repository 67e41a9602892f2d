/**
 * Waiting for a device: results of compiled functions that stay on a GPU are handed out when their work is
 * queued, and this tells when it is done. Work on a device ends in order, so that the end of a program that
 * does nothing is the end of all.
 */
import { refuseMore } from '../../graph/arguments.js';
import { calledAsync } from '../../host/site.js';
import { createProgram, memory, type NativeProgram, run } from '../native/native.js';
import { deviceFrom } from '../targets/device.js';

const nothing = new Map<string, NativeProgram>();

function nothingOn(device: string): NativeProgram {
  let program = nothing.get(device);
  if (program === undefined) {
    program = createProgram({ device, buffers: [], arenaByteLength: 0, images: [], steps: [] });
    nothing.set(device, program);
  }
  return program;
}

/**
 * Waits until all that was asked of a device before is done; without a name, of every device in use. Rejects
 * with what went wrong, such as a `DeviceLostError`, that was not reported yet.
 *
 * @example
 * await lazy([1, 2]).persist({ device: 'cpu' })
 * await synchronize('cpu')
 */
export function synchronize(device?: string): Promise<void>;
export async function synchronize(device?: string, ...more: readonly unknown[]): Promise<void> {
  await calledAsync(synchronize, async () => {
    refuseMore('synchronize', 1, [device, ...more]);
    const devices =
      device === undefined ? memory().map((entry) => entry.device) : [deviceFrom('compute', device).name];
    await Promise.all(devices.map((name) => run(nothingOn(name), [], { outputs: [] })));
  });
}
