/** CUDA C with the options that it is compiled with. */
import type { CudaText } from '../../graph/loop-step.js';
import { CUDA_OPTIONS } from './cuda.js';

export interface CudaSource {
  readonly text: string;
  /** The compiler's options beside the architecture. */
  readonly options: readonly string[];
  /**
   * A function of the text, or an instantiation of a template, whose name in the image is asked for: C++ gives it
   * another one.
   */
  readonly entry?: string | undefined;
  /** The texts of the user's own in it, each behind a `#line` that names its file. */
  readonly userTexts?: readonly CudaText[] | undefined;
}

/** A source that Weft generated, around texts of the user's own. */
export const generatedSource = (text: string, userTexts: readonly CudaText[] = []): CudaSource => ({
  text,
  options: CUDA_OPTIONS,
  userTexts,
});

/** Equal for sources of which one image is made. */
export const sourceKey = ({ text, options, entry }: CudaSource): string =>
  options === CUDA_OPTIONS && entry === undefined ? text : JSON.stringify([text, options, entry]);
