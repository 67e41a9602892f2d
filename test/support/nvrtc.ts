/** The real NVRTC, which tests of generated CUDA C are skipped without, with the reason in their names. */
import { cudaInfo } from '../../src/exec/native/native.js';

export const withoutNvrtc = cudaInfo().nvrtc === null;

/** Why NVRTC is missed, for the name of a test. */
export const whyNoNvrtc = withoutNvrtc ? ` (skipped: ${cudaInfo().tried.nvrtc.join('; ')})` : '';
