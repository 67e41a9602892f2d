/** The launch before kernels whose tiles look back (`codegen/cuda/routines/look-back.ts`): words become 0. */
import { CLEAR_NAME, CLEAR_THREADS, CLEARED } from '../../codegen/cuda/routines/look-back.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { CallLaunch } from './call-row.js';
import { int64 } from './launch-arguments.js';

/** Clears so many words from the beginning of a buffer on. */
export const clearLaunch = (buffer: LaunchArgument, words: number): CallLaunch => ({
  function: CLEAR_NAME,
  blocks: Math.ceil(words / CLEARED),
  threads: CLEAR_THREADS,
  args: [{ block: 'x' }, buffer, int64(words)],
});
