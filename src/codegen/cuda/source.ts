/** CUDA C with the options that it is compiled with. */
import type { CudaText } from '../../graph/loop-step.js';
import { CUDA_OPTIONS, KERNEL_OPTIONS } from './cuda.js';

export interface CudaSource {
  readonly text: string;
  /** The compiler's options beside the architecture. */
  readonly options: readonly string[];
  /**
   * A function of the text, or an instantiation of a template, whose name in the image is asked for: C++ gives it
   * another one.
   */
  readonly entry?: string | undefined;
  /** Whether it needs instructions that its architecture alone has, and none after it: `sm_90a` rather than `sm_90`. */
  readonly isSpecific?: boolean | undefined;
  /** The texts of the user's own in it, each behind a `#line` that names its file. */
  readonly userTexts?: readonly CudaText[] | undefined;
}

/** A kernel that Weft generated, around texts of the user's own. */
export const kernelSource = (text: string, userTexts: readonly CudaText[] = []): CudaSource => ({
  text,
  options: KERNEL_OPTIONS,
  userTexts,
});

/** The text of a routine. */
export const routineSource = (text: string): CudaSource => ({ text, options: CUDA_OPTIONS });

/** The architecture, as NVRTC names it, that a source is compiled for on devices of another one's name: `sm_90`. */
export const architectureFor = ({ isSpecific }: CudaSource, architecture: string): string =>
  isSpecific === true ? `${architecture}a` : architecture;

/** Equal for sources of which one image is made. */
export const sourceKey = ({ text, options, entry, isSpecific }: CudaSource): string =>
  options === KERNEL_OPTIONS && entry === undefined && isSpecific !== true
    ? text
    : JSON.stringify([text, options, entry, isSpecific]);
