import { vi } from 'vitest';
import type * as Native from '../../src/exec/native/native.js';

/** The runtime as a process started with these settings would have it. */
export async function nativeWith(settings: Readonly<Record<string, string>>): Promise<typeof Native> {
  vi.resetModules();
  const before = { ...process.env };
  Object.assign(process.env, settings);
  try {
    const native = await import('../../src/exec/native/native.js');
    native.cpuInfo();
    return native;
  } finally {
    process.env = before;
  }
}
