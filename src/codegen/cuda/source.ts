/** CUDA C with the options that it is compiled with. */
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
  /** The user's file that holds the text behind its `#line 1`, and the line where it begins there. */
  readonly place?: { readonly path: string; readonly line: number } | undefined;
}

/** A source that Weft generated. */
export const generatedSource = (text: string): CudaSource => ({ text, options: CUDA_OPTIONS });

/** Equal for sources of which one image is made. */
export const sourceKey = ({ text, options, entry }: CudaSource): string =>
  options === CUDA_OPTIONS && entry === undefined ? text : JSON.stringify([text, options, entry]);
