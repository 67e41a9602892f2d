/** A library or part of a machine, found or missing: a line of `weft doctor` and `weft setup`. */

/**
 * `found`: there, and it works as far as was tried; `missing`: not there; `broken`: there, and it cannot be
 * used.
 */
export type Status = 'found' | 'missing' | 'broken';

export interface Finding {
  readonly area: 'runtime' | 'cpu' | 'gpu' | 'cache' | 'first use';
  readonly name: string;
  readonly status: Status;
  readonly value: string;
  /** The consequence of its absence. */
  readonly cost?: string;
  /** How to get it. */
  readonly remedy?: string;
  /** For a library: the places that were tried, and what was wrong there. */
  readonly tried?: readonly string[];
}
