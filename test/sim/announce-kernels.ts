/**
 * Has the simulated NVRTC compile the kernels of a run together: most of the time that a small kernel takes is that of
 * starting g++, and tests of tables compute dozens of cases in one run.
 */
import { addon } from '../../src/exec/native/native-addon.js';
import { announce } from './simulator.js';

/** Announces what is compiled from now on. Loads the addon. */
export function announceKernels(): void {
  const native = addon();
  const compile = native.compileCuda;
  if (compile.name === compileAnnounced.name) return;
  native.compileCuda = compileAnnounced;

  function compileAnnounced(source: string, options: readonly string[], entry?: string) {
    if (entry === undefined) announce(source, options);
    return compile.call(native, source, options, entry);
  }
}
